"""A small shop that two agents work on: what the picker's tests and pictures show.

Its clock stands still, so ages are the same in every run; ids are not, pictures leave them out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from takeback.app.engine import Engine
from takeback.app.threads import PolledReporter, WorkspaceThread
from takeback.model import event as events
from takeback.model.event import EDIT, SHELL, AgentEvent, ToolCall
from takeback.tui.main import MainScreen
from takeback.tui.picker import PickerApp
from takeback.tui.timeline.list import TimelineList
from takeback.turns.receive import Received
from tests.support.engine import NOON, TestClock
from tests.support.journey import write_files
from tests.tui.stage import until

MINUTE, HOUR, DAY = 60, 3600, 86400
CART = b"""class Cart:
    def __init__(self):
        self.items = []

    def add(self, item):
        self.items.append(item)

    def total(self):
        total = 0
        for item in self.items:
            total = total + item.price
        return total
"""
FASTER = b"""class Cart:
    def __init__(self):
        self.items = []

    def add(self, item):
        self.items.append(item)

    def total(self):
        return sum(item.price for item in self.items)

    def __len__(self):
        return len(self.items)
"""
LOGIN = b"""def user_of(cookie):
    return cookie.split(":")[0]
"""
SIGNED = b"""import hmac

KEY = b"keep me secret"


def user_of(cookie):
    name, signature = cookie.split(":")
    wanted = hmac.new(KEY, name.encode(), "sha256").hexdigest()
    if not hmac.compare_digest(wanted, signature):
        raise PermissionError("the cookie is not ours")
    return name
"""


class Agent:
    """One session of an agent in the shop."""

    def __init__(self, tb: Engine, root: Path, clock: TestClock, agent: str, native: str) -> None:
        self._tb = tb
        self._root = root
        self._clock = clock
        self._agent = agent
        self._native = native
        self._turns = 0

    def tell(self, kind: Any, ago: float, **fields: Any) -> Received:
        """Tells takeback what happened some seconds before noon."""
        self._clock.time = NOON - ago
        event = AgentEvent(
            kind=kind, agent=self._agent, session=self._native, directory=str(self._root)
        )
        return self._tb.receive(event.replace(**fields))

    @property
    def turn_id(self) -> str:
        return f"{self._native}-{self._turns}"

    def prompt(self, text: str, ago: float) -> Received:
        self._turns += 1
        return self.tell(events.PROMPT, ago, turn=self.turn_id, prompt=text)

    def turn(
        self,
        text: str,
        ago: float,
        files: Mapping[str, bytes | None],
        *,
        by: str = EDIT,
        meanwhile: str | None = None,
    ) -> Received:
        """Plays a whole turn, by an edit tool or by the shell."""
        begun = self.prompt(text, ago)
        if meanwhile is not None:
            self.tell(events.PROMPT, ago - 10, turn=self.turn_id, prompt=meanwhile, steer=True)
        change(self._root, files)
        paths = tuple(str(self._root / name) for name in files)
        tool = ToolCall("Edit", EDIT, paths) if by == EDIT else ToolCall("Bash", SHELL)
        self.tell(events.TURN_END, ago - 30, turn=self.turn_id, tools=(tool,))
        return begun


def change(root: Path, files: Mapping[str, bytes | None]) -> None:
    """Writes files, and deletes those that are None."""
    for name, content in files.items():
        if content is None:
            (root / name).unlink()
        else:
            write_files(root, {name: content})


def tell_story(root: Path) -> TestClock:
    """Plays two days in the shop; the clock that is returned stands at noon."""
    clock = TestClock()
    change(
        root,
        {
            "README.md": b"# A shop\n",
            "shop/cart.py": CART,
            "shop/login.py": LOGIN,
            "style.css": b"body { font: 16px serif; }\n",
        },
    )
    with Engine.open(root, clock=clock) as tb:
        clock.time = NOON - 2 * DAY - HOUR
        tb.checkpoint("before the agents")
        claude = Agent(tb, root, clock, "claude", "2a8f61c0")
        codex = Agent(tb, root, clock, "codex", "0197b3d2")
        claude.turn(
            "add a page that shows what is in the cart",
            2 * DAY,
            {"shop/pages.py": b'def cart_page(cart):\n    return f"{len(cart)} things"\n'},
        )
        claude.turn(
            "make the total of the cart faster, and write tests for it",
            DAY,
            {"shop/cart.py": FASTER, "tests/test_cart.py": b"def test_total():\n    assert 1\n"},
        )
        codex.turn(
            "make the buttons larger on small screens",
            6 * HOUR,
            {"style.css": b"body { font: 16px serif; }\nbutton { padding: 1em; }\n"},
        )
        change(root, {"README.md": b"# A shop\n\nRun it: python -m shop\n", "notes.txt": b"pay\n"})
        third = claude.turn(
            "fix the login bug: an old cookie logs you in as somebody else",
            5 * HOUR,
            {
                "shop/login.py": SIGNED,
                "tests/test_login.py": b"def test_old_cookie():\n    assert 1\n",
            },
        )
        forked_from = claude.turn_id
        fourth = claude.turn(
            "rename everything to plain words and move it to src/",
            3 * HOUR,
            {
                "shop/cart.py": None,
                "shop/login.py": None,
                "shop/pages.py": None,
                "src/basket.py": FASTER,
                "src/door.py": SIGNED,
            },
            by=SHELL,
            meanwhile="and keep the old names as aliases",
        )
        claude.turn(
            "now the tests fail, mend them", 2 * HOUR, {"tests/test_cart.py": b"import src\n"}
        )
        assert third.checkpoint is not None
        assert fourth.checkpoint is not None
        tb.label(third.checkpoint, "login")
        clock.time = NOON - 110 * MINUTE
        tb.rewind(fourth.checkpoint, scope="files")
        claude.turn(
            "only rename the cart this time",
            HOUR,
            {"shop/cart.py": None, "shop/basket.py": FASTER.replace(b"Cart", b"Basket")},
        )
        fork = Agent(tb, root, clock, "claude", "9c41d07e")
        fork.tell(events.FORKED, 50 * MINUTE, parent="2a8f61c0", entry=forked_from)
        fork.turn(
            "try it with sessions on the server instead of signed cookies",
            45 * MINUTE,
            {"shop/login.py": LOGIN + b"\n\nSESSIONS = {}\n", "shop/sessions.py": b"OPEN = {}\n"},
        )
        codex.prompt("add a dark theme, and remember which one was chosen", 30)
    clock.time = NOON
    return clock


def step_back_ten_times(root: Path) -> TestClock:
    """Plays twelve turns and ten rewinds: three tries at turn 8, and then one step after another.

    The clock that is returned stands at noon.
    """
    clock = TestClock()
    write_files(root, {"shop/cart.py": CART})
    with Engine.open(root, clock=clock) as tb:
        said: list[dict[str, str]] = []

        def turn(native: str, prompt: str, ago: float, name: str) -> None:
            session = tb.session(agent="mine", native=native)
            clock.time = NOON - ago
            with session.turn(prompt, conversation=list(said)) as begun:
                write_files(root, {name: f"{prompt}\n".encode()})
                said.extend({"role": role, "text": prompt} for role in ("user", "assistant"))
                begun.end(conversation=list(said))

        for number in range(1, 13):
            prompt = f"do the {number}. part of the shop"
            turn("s1", prompt, DAY - number * MINUTE, f"shop/part{number}.py")
        for number, word in enumerate(("quickly", "carefully", "in plain words"), 1):
            clock.time = NOON - 6 * HOUR + number * HOUR
            child = tb.rewind("mine-s1/turn:8", scope="both").session
            assert child is not None
            native = child.removeprefix("mine-")
            turn(native, f"now do it {word}", (6 - number) * HOUR - 60, "shop/again.py")
        current = native
        for number in range(7):
            clock.time = NOON - 30 * MINUTE + number * MINUTE
            tb.rewind(tb.before_newest_turn(f"mine-{current}"), scope="both")
    clock.time = NOON
    return clock


def open_app(root: Path, clock: TestClock, **options: Any) -> PickerApp:
    """Returns a picker of a workspace; ``play`` closes its workspace."""
    reporter = PolledReporter()
    workspace = WorkspaceThread(lambda: Engine.open(root, clock=clock, reporter=reporter), reporter)
    return PickerApp(workspace, where="~/shop", now=clock.now, **options)


def play(
    app: PickerApp,
    story: Callable[[PickerApp, Pilot[None]], Awaitable[None]],
    size: tuple[int, int] = (80, 24),
) -> None:
    """Runs a story in a picker whose first rows are there, and closes it."""

    async def played() -> None:
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: main(app).detail is not None)
            await story(app, pilot)

    try:
        asyncio.run(played())
    finally:
        app.workspace.close()
    assert app.failure is None


def main(app: PickerApp) -> MainScreen:
    screen = app.screen_stack[0]
    assert isinstance(screen, MainScreen)
    return screen


def rows_of(app: PickerApp) -> TimelineList:
    return main(app).timeline.list


def lines_of(app: PickerApp) -> list[str]:
    """Returns the lines of the list as they are on the screen."""
    rows = rows_of(app)
    return [rows.render_line(y).text.rstrip() for y in range(rows.size.height)]


def title_of(app: PickerApp) -> str:
    from takeback.tui.bars import TitleBar

    return main(app).query_one(TitleBar).render_line(0).text
