"""The play itself: three turns, two rewinds of files and conversation, two undos, a redo, a fork,
and a proof after each."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from shutil import which

from takeback.app.engine import Engine
from takeback.cli.demo.agent import OTHERWISE, TURNS, ScriptedSession, set_the_stage
from takeback.cli.demo.recording import bytes_in, differences, files_in, record
from takeback.context import Translated
from takeback.errors import Refused
from takeback.git.process import find_git
from takeback.model.value import Value
from takeback.visible import shown
from takeback.words.sessions import tree_lines
from takeback.words.text import count, quoted, shown_path, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from takeback.cli.demo.recording import Recording
    from takeback.model.operation import Outcome
    from takeback.words.text import Paint


class Proof(Value):
    """One claim, how many paths were compared for it, and those that contradict it."""

    what: str
    compared: int
    differing: tuple[bytes, ...]

    @property
    def held(self) -> bool:
        return not self.differing


def make_stage(directory: str | None) -> str:
    """Returns an empty directory for the demo; raises Refused if the given one is not empty."""
    if directory is None:
        return os.path.realpath(tempfile.mkdtemp(prefix="takeback-demo-"))
    with Translated("making the directory of the demo"):
        os.makedirs(directory, exist_ok=True)
        taken = os.listdir(directory)
    if taken:
        raise Refused(f"{directory} is not empty", hint="give the demo a new directory: --dir DIR")
    return os.path.realpath(directory)


class Performance:
    """Plays the demo in ``base``. ``say`` is given lines, ``pause`` is called between scenes."""

    def __init__(
        self, base: str, say: Callable[[str], None], pause: Callable[[], None], paint: Paint
    ) -> None:
        self.project = os.path.join(base, "project")
        self.store_home = os.path.join(base, "store")
        self._transcripts = os.path.join(base, "transcripts")
        self.proofs: list[Proof] = []
        self.checkpoints: list[str] = []
        self.project_bytes = 0
        self.store_bytes = 0
        self._base = base
        self._say = say
        self._pause = pause
        self._paint = paint
        # A home and settings of its own: the person's stores and settings stay out of it.
        self._environ = {
            **os.environ,
            "TAKEBACK_HOME": self.store_home,
            "XDG_CONFIG_HOME": os.path.join(base, "settings"),
        }
        self._states: list[Recording] = []

    def play(self) -> bool:
        """Plays it all; True if every proof held."""
        self._open_the_project()
        with Engine.open(self.project, environ=self._environ, holder="demo") as tb:
            agent = ScriptedSession(tb, self._transcripts, "first")
            for number in range(len(TURNS)):
                self._turn(agent, number)
            ruined, git = record(self.project), self._git_directory()
            with open(agent.transcript, "rb") as file:
                spoken = file.read()
            _, two, three = self._states
            self._go("Rewind files and conversation to before turn 3", "turn:3", tb, three)
            self._go("Rewind both to before turn 2", "turn:2", tb, two)
            self._back("Undo that rewind", tb.undo, three)
            self._back("Undo the other one too: even the mess can be had back", tb.undo, ruined)
            self._back("Redo: out of the mess again", tb.redo, three)
            self._fork(tb)
            self._say("")
            self._say(self._paint.strong("After all that"))
            self._prove("the project's .git is as it was", git, self._git_directory())
            self._claim("the agent's own transcript was never touched", spoken, agent.transcript)
            self.project_bytes = bytes_in(record(self.project))
            self.store_bytes = tb.status().bytes
        return all(proof.held for proof in self.proofs)

    def _git_directory(self) -> Recording:
        return record(os.path.join(self.project, ".git"), skip=b"")

    def _open_the_project(self) -> None:
        os.mkdir(self.project)
        os.mkdir(self._transcripts)
        set_the_stage(self.project)
        self._git("init", "--quiet")
        self._git("add", "README.md")
        self._git("commit", "--quiet", "--no-verify", "--message", "begin")
        self._say(f"A scratch project with a commit: {shown(self.project)}")
        self._say("Your own files, stores and settings are not touched.")
        self._pause()

    def _git(self, *args: str) -> None:
        """Runs git as the owner of the scratch project, without any configuration."""
        who = {"NAME": "Demo", "EMAIL": "demo@example.org"}
        clean = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        identity = {
            f"GIT_{role}_{k}": v for role in ("AUTHOR", "COMMITTER") for k, v in who.items()
        }
        sealed = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        subprocess.run(
            [find_git(os.environ), *args],
            cwd=self.project,
            env={**clean, **identity, **sealed},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=True,
        )

    def _turn(self, agent: ScriptedSession, number: int) -> None:
        turn = TURNS[number]
        self._say("")
        self._say(self._paint.strong(f'Turn {number + 1}: "{turn.prompt}"'))
        self._states.append(record(self.project))
        made = agent.play(turn, self.project)
        self.checkpoints.append(made.id)
        self._say(f"  checkpoint before it, of {count(made.files, 'file')}: {made.id}")
        for line in turn.story:
            self._say(f"  the agent {line}" if line is turn.story[0] else f"            {line}")
        self._say(f"  now there are {count(files_in(record(self.project)), 'file')}")
        self._pause()

    def _go(self, title: str, name: str, tb: Engine, wanted: Recording) -> None:
        """Rewinds files and conversation; also compares what the agent would remember."""
        outcome = self._back(title, lambda: tb.rewind(name, scope="both"), wanted)
        assert outcome.resume is not None
        native = outcome.resume.argv[-1]
        child = ScriptedSession(tb, self._transcripts, native)
        behind = int(name.removeprefix("turn:")) - 1
        asked = [turn.prompt for turn in TURNS[:behind]]
        proof = Proof("the agent remembers nothing later", len(asked), ())
        if child.asked() != asked:
            proof = proof.replace(differing=(os.fsencode(child.transcript),))
        self.proofs.append(proof)
        self._say(f"  the agent, resumed, remembers {count(asked, 'prompt')} and nothing later")
        self._say(f"  {' '.join(outcome.resume.argv)}")
        self._pause()

    def _back(self, title: str, move: Callable[[], Outcome], wanted: Recording) -> Outcome:
        self._say("")
        self._say(self._paint.strong(title))
        start = time.monotonic()
        outcome = move()
        took = round((time.monotonic() - start) * 1000)
        self._say(f"  {len(outcome.written)} written, {len(outcome.deleted)} deleted, {took} ms")
        self._prove(f"{title[0].lower()}{title[1:]}", wanted, record(self.project))
        self._pause()
        return outcome

    def _fork(self, tb: Engine) -> None:
        self._say("")
        self._say(self._paint.strong("Fork from before turn 3, and ask for something else"))
        outcome = tb.fork("first/turn:3")
        assert outcome.resume is not None
        child = ScriptedSession(tb, self._transcripts, outcome.resume.argv[-1])
        child.play(OTHERWISE, self.project)
        self._pause()
        self._say("")
        self._say(self._paint.strong("The tree of all of it"))
        for line in tree_lines(tb.tree(), self._paint, time.time()):
            self._say(f"  {line}")
        self._pause()

    def _claim(self, what: str, then: bytes, path: str) -> None:
        with open(path, "rb") as file:
            same = file.read() == then
        self.proofs.append(Proof(what, 1, () if same else (os.fsencode(path),)))
        self._say(f"  {self._paint.added('proof: ' + what) if same else 'NOT: ' + what}")

    def _prove(self, what: str, then: Recording, now: Recording) -> None:
        proof = Proof(what, len(then), tuple(differences(then, now)))
        self.proofs.append(proof)
        if proof.held:
            same = f"proof: {count(then, 'path')} compared, type, mode and every byte the same"
            self._say(f"  {self._paint.added(same)}")
            return
        self._say(f"  {self._paint.deleted('NOT the same:')}")
        for path in proof.differing:
            self._say(f"    {shown_path(path)}")

    def closing(self) -> list[str]:
        """Returns the sizes and what to try next."""
        return [
            "",
            f"{size(self.project_bytes)} of files, {size(self.store_bytes)} in the store.",
            "",
            "Look around:",
            *self._on_path(),
            f"  cd {quoted(self.project)}",
            f"  export TAKEBACK_HOME={quoted(self.store_home)}",
            "  takeback tree",
            "  takeback log",
            "  takeback show first/turn:3",
            "  takeback rewind first/turn:2 --dry-run",
            "  takeback undo",
            f"Remove it all: rm -r {quoted(self._base)}",
        ]

    def _on_path(self) -> list[str]:
        """Returns the line that lets a shell find this takeback; none if it already does."""
        folder = os.path.dirname(sys.executable)
        ours = os.path.join(folder, "takeback")
        found = which("takeback", path=os.environ.get("PATH"))
        if found is not None and os.path.realpath(found) == os.path.realpath(ours):
            return []
        return [f"  export PATH={quoted(folder)}:$PATH"] if os.path.exists(ours) else []
