"""The shop once more, with Claude Code's own transcript: places where the conversation can go.

It lies at a path of one length, so that a picture of it wraps in the same way in every run.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from takeback.app.engine import Engine
from takeback.model import event as events
from takeback.model.event import EDIT, ToolCall
from tests.support.engine import NOON, TestClock
from tests.support.git import new_repository
from tests.support.removal import remove_tree
from tests.tui.world import CART, DAY, FASTER, HOUR, LOGIN, MINUTE, SIGNED, Agent, change

NATIVE = "2a8f61c0-6a3e-4c55-9d0e-0e8d1a52c7f1"


class Talking(Agent):
    """A session of Claude Code: a prompt is told, then written; an answer the other way."""

    transcript: Path

    def turn_with(self, text: str, ago: float, files: Mapping[str, bytes | None]) -> None:
        self._turns += 1
        known = {"turn": self.turn_id, "transcript": str(self.transcript)}
        self.tell(events.PROMPT, ago, prompt=text, **known)
        self._write("user", text)
        change(self._root, files)
        paths = tuple(str(self._root / name) for name in files)
        self._write("assistant", "done")
        tools = (ToolCall("Edit", EDIT, paths),)
        self.tell(events.TURN_END, ago - 30, tools=tools, **known)

    def _write(self, role: str, text: str) -> None:
        lines = self.transcript.read_text().splitlines() if self.transcript.exists() else []
        entry = {
            "parentUuid": f"e{len(lines) - 1}" if lines else None,
            "uuid": f"e{len(lines)}",
            "isSidechain": False,
            "promptId": self.turn_id,
            "type": role,
            "message": {"role": role, "content": text},
            "sessionId": NATIVE,
        }
        with self.transcript.open("a") as file:
            file.write(json.dumps(entry) + "\n")


@contextmanager
def shop() -> Iterator[Path]:
    """Gives a directory that Claude Code has worked in for a day, and deletes it afterwards."""
    root = Path(tempfile.mkdtemp(prefix="shop-", dir="/tmp"))
    try:
        new_repository(root)
        _tell(root)
        yield root
    finally:
        remove_tree(root)


def _tell(root: Path) -> None:
    clock = TestClock()
    change(root, {"README.md": b"# A shop\n", "shop/cart.py": CART, "shop/login.py": LOGIN})
    with Engine.open(root, clock=clock) as tb:
        claude = Talking(tb, root, clock, "claude", NATIVE)
        claude.transcript = Path(os.environ["HOME"], f"{NATIVE}.jsonl")
        claude.turn_with("add a page that shows the cart", DAY, {"shop/pages.py": b"PAGE = 1\n"})
        claude.turn_with(
            "make the total of the cart faster, and write tests for it",
            6 * HOUR,
            {"shop/cart.py": FASTER, "tests/test_cart.py": b"def test_total():\n    assert 1\n"},
        )
        claude.turn_with(
            "fix the login bug",
            2 * HOUR,
            {"shop/login.py": SIGNED, "tests/test_login.py": b"def test_old():\n    assert 1\n"},
        )
    change(root, {"shop/login.py": SIGNED.replace(b"keep me secret", b"changed by me")})


def crowd(root: Path) -> None:
    """Lets Codex work here too: it changed the login, and made forty files."""
    clock = TestClock()
    with Engine.open(root, clock=clock) as tb:
        codex = Agent(tb, root, clock, "codex", "0197b3d2")
        pages = {f"pages/page{number:02}.html": b"<p>\n" for number in range(40)}
        codex.turn("make a page of each thing", 20 * MINUTE, {"shop/login.py": LOGIN, **pages})


def clock_at_noon() -> TestClock:
    return TestClock(NOON)


def settled(svg: str) -> str:
    """Replaces what is new in each run by something of the same length."""
    svg = re.sub(r"/tmp/shop-\w{8}", "/home/dev/the-shop", svg)
    uuid = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    svg = re.sub(uuid, "7c1d90b2-1f7a-4b0e-8a6c-5d2f9e3b4a10", svg)
    return re.sub(r"(resumed&#160;as&#160;)[0-9a-f]{4}\b", r"\g<1>7c1d", svg)
