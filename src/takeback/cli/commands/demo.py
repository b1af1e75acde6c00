"""takeback demo: the main job on a scratch project, with a scripted agent."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
import time
from shutil import which

import click

from takeback.app.engine import Engine
from takeback.cli.call import Call
from takeback.cli.options import verb
from takeback.cli.terminal import is_terminal
from takeback.context import Translated
from takeback.errors import Refused
from takeback.git.process import find_git
from takeback.model.event import PROMPT, TURN_END, AgentEvent
from takeback.model.json_text import dumps, loads
from takeback.model.value import Value
from takeback.visible import shown
from takeback.words import documents
from takeback.words.sessions import tree_lines
from takeback.words.text import count, quoted, shown_path, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from takeback.model.checkpoint import Checkpoint
    from takeback.model.operation import Outcome
    from takeback.words.text import Paint

    Recording = dict[bytes, tuple[str, int, bytes]]

# -- a scripted agent
#
# remembers of them.


_APP = """\
from todo.store import load, save

items = load("todo.txt")
items.append("write more tests")
save("todo.txt", items)
"""

_STORE = """\
def load(path):
    with open(path) as file:
        return file.read().splitlines()


def save(path, items):
    with open(path, "w") as file:
        file.write("\\n".join(items))
"""

_TEST = """\
from todo.store import load, save


def test_round_trip(tmp_path):
    save(tmp_path / "x", ["a", "b"])
    assert load(tmp_path / "x") == ["a", "b"]
"""

_SHELL_WORK = r"""
mkdir -p docs uploads
mv tests/test_store.py tests/test_todo.py
printf 'buy milk\ncall home\n' > todo.txt
printf '\211PNG\r\n\032\n\000\001\002\377\376' > docs/logo.png
umask 077
printf 'TOKEN=not-a-real-one\n' > .secret
printf '#!/bin/sh\nexec python3 app.py\n' > run
chmod 755 run
ln -s docs/logo.png logo
"""

_SHELL_DISASTER = r"""
rm -rf todo tests docs uploads
chmod 644 .secret run
echo > notes.txt
echo 'print("works on my machine")' > app.py
ln -sf /dev/null logo
"""


class ScriptedTurn(Value):
    """What the person asked for, and what the agent then does in the project's directory."""

    prompt: str
    work: Callable[[str], None]
    story: tuple[str, ...]


def _write(project: str, name: str, text: str) -> None:
    path = os.path.join(project, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _shell(project: str, script: str) -> None:
    quiet = subprocess.DEVNULL
    subprocess.run(["sh", "-euc", script], cwd=project, stdin=quiet, stdout=quiet, check=True)


def set_the_stage(project: str) -> None:
    """Writes what the person had before any agent came: a README, and their own notes."""
    _write(project, "README.md", "# To-do\n\nA list that does itself.\n")
    _write(project, "notes.txt", "Ideas, only here:\n- repeat every Monday\n- share with us\n")


def _build(project: str) -> None:
    _write(project, "app.py", _APP)
    _write(project, "todo/__init__.py", "")
    _write(project, "todo/store.py", _STORE)
    _write(project, "tests/test_store.py", _TEST)


def _extend(project: str) -> None:
    _write(project, "todo/store.py", _STORE + "\n\ndef count(path):\n    return len(load(path))\n")
    _shell(project, _SHELL_WORK)


def _ruin(project: str) -> None:
    _shell(project, _SHELL_DISASTER)


TURNS = (
    ScriptedTurn(
        "build a small to-do app",
        _build,
        ("wrote app.py, todo/ and a test",),
    ),
    ScriptedTurn(
        "count the items, add a logo and a start script",
        _extend,
        (
            "edited todo/store.py",
            "by shell: renamed the test, wrote a binary, a script, a link, an empty directory",
            "and .secret, which only its owner may read",
        ),
    ),
    ScriptedTurn(
        "clean up the project",
        _ruin,
        (
            "ran: rm -rf todo tests docs uploads",
            "overwrote app.py and notes.txt, which no commit ever held",
            "made .secret readable by everyone, and the script not executable",
        ),
    ),
)

OTHERWISE = ScriptedTurn(
    "clean up, but only what nobody uses",
    lambda project: _write(project, "CHANGES.md", "- nothing was unused\n"),
    ("looked around and wrote CHANGES.md",),
)


class ScriptedSession:
    """The agent's side of a conversation: its own transcript, reported to takeback event by event.

    This is all that an agent has to do to be protected: say when a prompt comes, and when a turn
    ends. Its transcript is one message per line.
    """

    def __init__(self, tb: Engine, folder: str, native: str) -> None:
        self._tb = tb
        self.native = native
        self.transcript = os.path.join(folder, f"{native}.jsonl")

    def play(self, turn: ScriptedTurn, project: str) -> Checkpoint:
        """Plays a turn and returns the checkpoint before it."""
        event = AgentEvent(
            kind=PROMPT,
            agent="demo",
            session=self.native,
            directory=project,
            transcript=self.transcript,
            turn=f"{self.native}-{turn.prompt}",
            prompt=turn.prompt,
            resume=("demo-agent", "--resume", "{session}"),
        )
        before = self._tb.receive(event).checkpoint
        assert before is not None
        self._remember("you", turn.prompt)
        turn.work(project)
        self._remember("agent", turn.story[0])
        self._tb.receive(event.replace(kind=TURN_END, prompt=None))
        return before

    def _remember(self, who: str, text: str) -> None:
        with open(self.transcript, "a", encoding="utf-8") as file:
            file.write(dumps({"who": who, "text": text}) + "\n")

    def asked(self) -> list[str]:
        """Returns the prompts that the agent remembers, as its transcript has them."""
        with open(self.transcript, encoding="utf-8") as file:
            messages = [loads(line) for line in file]
        return [m["text"] for m in messages if isinstance(m, dict) and m["who"] == "you"]


# -- an independent witness: records what is in a directory, without any code of the engine


def record(directory: str, *, skip: bytes = b".git") -> Recording:
    """Returns type, permission bits and bytes (a link's target) of every path below."""
    found: Recording = {}
    root = os.fsencode(directory)
    pending = [b""]
    while pending:
        parent = pending.pop()
        for name in os.listdir(os.path.join(root, parent)):
            if name == skip:
                continue
            path = os.path.join(parent, name)
            found[path] = _entry(os.path.join(root, path))
            if found[path][0] == "directory":
                pending.append(path)
    return found


def _entry(full: bytes) -> tuple[str, int, bytes]:
    status = os.lstat(full)
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        return "link", mode, os.readlink(full)
    if stat.S_ISDIR(status.st_mode):
        return "directory", mode, b""
    with open(full, "rb") as file:
        return "file", mode, file.read()


def differences(then: Recording, now: Recording) -> list[bytes]:
    """Returns the paths that differ in any way."""
    return sorted(path for path in then.keys() | now.keys() if then.get(path) != now.get(path))


def files_in(recording: Recording) -> int:
    return sum(1 for kind, _, _ in recording.values() if kind != "directory")


def bytes_in(recording: Recording) -> int:
    return sum(len(content) for _, _, content in recording.values())


# -- the play itself
#
# and a proof after each.


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


# -- takeback demo


_PAUSE = 0.7


@verb("demo")
@click.option("--dir", "base", metavar="DIR", help="A new or empty directory to play in.")
@click.option("--fast", is_flag=True, help="No pauses.")
def demo_command(call: Call, base: str | None, fast: bool) -> int:
    """Show takeback at work in a throw-away directory.

    A scripted agent works three turns on a scratch project, the last one a disaster. Then the
    turns are taken back, files and conversation, every path is compared with how it was, and a
    fork goes another way.
    """
    from takeback.gate.asker import refuse_inside

    if base is not None:
        refuse_inside("a demo in a directory of one's choice", os.environ)
    output = call.output
    slow = not fast and not call.quiet and not call.json and is_terminal(sys.stdout)

    def say(line: str) -> None:
        output.done([line])
        sys.stdout.flush()

    def pause() -> None:
        if slow:
            time.sleep(_PAUSE)

    performance = Performance(make_stage(base), say, pause, output.paint)
    held = performance.play()
    output.document("demo", _fields(performance, held=held))
    output.done(performance.closing())
    if not held:
        output.line("A proof failed; this is a bug in takeback.")
    return 0 if held else 1


def _fields(performance: Performance, *, held: bool) -> documents.Document:
    return {
        "project": performance.project,
        "store": performance.store_home,
        "checkpoints": performance.checkpoints,
        "proofs": [
            {
                "what": proof.what,
                "held": proof.held,
                "compared": proof.compared,
                "differing": documents.path_list(proof.differing),
            }
            for proof in performance.proofs
        ],
        "held": held,
        "bytes": performance.project_bytes,
        "store_bytes": performance.store_bytes,
    }
