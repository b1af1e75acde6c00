"""A scripted agent: turns on a small project, done by writing files and by the shell, and what it
remembers of them."""

from __future__ import annotations

import os
import subprocess

from takeback.model.event import PROMPT, TURN_END, AgentEvent
from takeback.model.json_text import dumps, loads
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from takeback.app.engine import Engine
    from takeback.model.checkpoint import Checkpoint

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
