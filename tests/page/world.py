"""The shop as the page shows it: Claude Code with a whole transcript, Codex beside it, and a fork.

Its clock stands at noon, so that a picture of it is the same each time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from takeback.app.engine import Engine
from takeback.model import event as events
from takeback.model.event import EDIT, ToolCall
from tests.support.engine import NOON, TestClock
from tests.tui.world import CART, FASTER, HOUR, LOGIN, MINUTE, SIGNED, Agent, change

NATIVE = "2a8f61c0-6a3e-4c55-9d0e-0e8d1a52c7f1"
Block = dict[str, Any]


class Claude(Agent):
    """A session of Claude Code that writes its transcript as it does itself."""

    transcript: Path
    _lines = 0

    def say(self, prompt: str, ago: float, files: Mapping[str, bytes | None], answer: str) -> None:
        """Plays a turn: the prompt, an edit for each file, and the answer."""
        self.begin(prompt, ago)
        self.end(files, ago - 90, answer)

    def begin(self, prompt: str, ago: float) -> None:
        self._turns += 1
        self.tell(events.PROMPT, ago, prompt=prompt, **self._known)
        self._write("user", prompt, ago)

    def end(self, files: Mapping[str, bytes | None], ago: float, answer: str) -> None:
        for at, name in enumerate(files):
            call = f"toolu_{self._turns}_{at}"
            path = str(self._root / name)
            used = {"type": "tool_use", "id": call, "name": "Edit", "input": {"file_path": path}}
            self._write("assistant", [used], ago)
            self._write(
                "user", [{"type": "tool_result", "tool_use_id": call, "content": "ok"}], ago
            )
        change(self._root, files)
        self._write("assistant", [{"type": "text", "text": answer}], ago)
        paths = tuple(str(self._root / name) for name in files)
        self.tell(events.TURN_END, ago, tools=(ToolCall("Edit", EDIT, paths),), **self._known)

    @property
    def _known(self) -> dict[str, str]:
        return {"turn": self.turn_id, "transcript": str(self.transcript)}

    def _write(self, role: str, content: str | Sequence[Block], ago: float) -> None:
        entry = {
            "parentUuid": f"e{self._lines - 1}" if self._lines else None,
            "uuid": f"e{self._lines}",
            "isSidechain": False,
            "promptId": self.turn_id,
            "type": role,
            "message": {"role": role, "content": content},
            "sessionId": self._native,
            "timestamp": _stamp(NOON - ago),
        }
        self._lines += 1
        with self.transcript.open("a") as file:
            file.write(json.dumps(entry) + "\n")


def _stamp(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat().replace("+00:00", "Z")


def claude(tb: Engine, root: Path, clock: TestClock, home: Path) -> Claude:
    """Returns Claude Code in a workspace."""
    made = Claude(tb, root, clock, "claude", NATIVE)
    made.transcript = home / f"{NATIVE}.jsonl"
    return made


def tell(root: Path, home: Path) -> None:
    """Plays a day in the shop."""
    clock = TestClock()
    change(root, {"README.md": b"# A shop\n", "shop/cart.py": CART, "shop/login.py": LOGIN})
    with Engine.open(root, clock=clock) as tb:
        clock.time = NOON - 7 * HOUR
        tb.checkpoint("before the agents")
        one = claude(tb, root, clock, home)
        codex = Agent(tb, root, clock, "codex", "0197b3d2")
        one.say(
            "add a page that shows what is in the cart",
            6 * HOUR,
            {"shop/pages.py": b'def cart_page(cart):\n    return f"{len(cart.items)} things"\n'},
            "I added `cart_page` to **shop/pages.py**. It returns how many things are in the cart.",
        )
        one.say(
            "make the total of the cart faster, and write tests for it",
            5 * HOUR,
            {
                "shop/cart.py": FASTER,
                "tests/test_cart.py": b"def test_total():\n    assert Cart().total() == 0\n",
            },
            "The total is one expression now:\n\n```python\nreturn sum(item.price for item in "
            "self.items)\n```\n\nI also added:\n\n- `__len__`, so that a cart has a length\n"
            "- a test for the empty cart",
        )
        codex.turn(
            "make the buttons larger on small screens",
            4 * HOUR,
            {"style.css": b"body { font: 16px serif; }\nbutton { padding: 1em; }\n"},
        )
        one.say(
            "fix the login bug: an old cookie logs you in as somebody else",
            3 * HOUR,
            {
                "shop/login.py": SIGNED,
                "tests/test_login.py": b"def test_old_cookie():\n    assert 1\n",
            },
            "The cookie was trusted as it came. It is signed now, and a cookie whose signature "
            "does not match is refused with `PermissionError`.",
        )
        fork = Agent(tb, root, clock, "claude", "9c41d07e")
        fork.tell(events.FORKED, 150 * MINUTE, parent=NATIVE, entry=one.turn_id)
        fork.turn(
            "try it with sessions on the server instead",
            140 * MINUTE,
            {"shop/sessions.py": b"OPEN = {}\n"},
        )
        one.say(
            "use plain words for the errors that a customer sees",
            2 * HOUR,
            {
                "shop/login.py": SIGNED.replace(b"the cookie is not ours", b"please log in again"),
                "shop/words.py": b'AGAIN = "please log in again"\n',
            },
            "Done. The words are in `shop/words.py`, so that they can be translated later.",
        )
        clock.time = NOON - HOUR
        tb.label(tb.find("turn:3", session=f"claude-{NATIVE}").id, "login")
    change(root, {"README.md": b"# A shop\n\nRun it: python -m shop\n"})


@contextmanager
def running(root: Path) -> Iterator[None]:
    """Lets Codex work on something for a while."""
    with Engine.open(root) as tb:
        codex = Agent(tb, root, TestClock(), "codex", "0197b3d2")
        codex.tell(events.PROMPT, 0, turn="busy", prompt="add a dark theme")
        try:
            yield
        finally:
            codex.tell(events.TURN_END, 0, turn="busy")
