"""While work is under way: no key starts anything else, and a longer wait shows the progress."""

from __future__ import annotations

import asyncio

from rich.text import Text
from textual.binding import Binding
from textual.screen import ModalScreen
from textual.widgets import Static

from takeback.words import choices as words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from textual.app import App, ComposeResult

    from takeback.app.engine import Engine
    from takeback.app.polled_reporter import PolledReporter
    from takeback.app.workspace_thread import WorkspaceThread

    T = TypeVar("T")

PATIENCE = 0.3
"""Seconds before anything is shown: quicker work would only flicker."""
_BEAT = 0.1


class ProgressScreen(ModalScreen[None]):
    """Covers the picker with nothing at first, then with one line.

    Quitting waits until what changes files has ended (``waits``).
    """

    DEFAULT_CSS = """
    ProgressScreen {
        align: center middle;
        background: transparent;
    }
    ProgressScreen > Static {
        display: none;
        width: auto;
        max-width: 96%;
        height: auto;
        padding: 0 2;
        border: round $primary;
        background: $surface;
    }
    ProgressScreen.late > Static {
        display: block;
    }
    """
    BINDINGS = [  # noqa: RUF012 - as Textual has it
        Binding("ctrl+c,ctrl+q,q", "leave", "quit when it is done", priority=True),
    ]

    def __init__(self, what: str, reporter: PolledReporter | None, *, waits: bool) -> None:
        super().__init__()
        self._what = what
        self._reporter = reporter
        self._waits = waits
        self.leaving = False

    def compose(self) -> ComposeResult:
        yield Static(Text(self._what), markup=False)

    def on_mount(self) -> None:
        self.set_timer(PATIENCE, self._show)
        self.set_interval(_BEAT, self._refresh_words)

    def _show(self) -> None:
        self.add_class("late")

    def _refresh_words(self) -> None:
        step = None if self._reporter is None else self._reporter.step
        text = words.progress(self._what, step, leaving=self.leaving)
        self.query_one(Static).update(Text(text))

    def action_leave(self) -> None:
        """Quits as soon as nothing is half-done."""
        self.leaving = True
        self._show()
        if not self._waits:
            self.app.exit()


class Progress:
    """Asks the workspace with the keys blocked meanwhile, and shows how far it is."""

    def __init__(self, app: App[Any], workspace: WorkspaceThread) -> None:
        self._app = app
        self._workspace = workspace

    async def during(
        self,
        what: str,
        job: Callable[[Engine], T],
        *,
        changes: bool = False,
        noted: Callable[[T], None] | None = None,
    ) -> T:
        """Returns the answer of a job; raises what the job raises.

        With ``changes`` the job changes files: a request to quit waits until it has ended.
        ``noted`` is given the answer before that.
        """
        reporter = self._workspace.reporter
        if reporter is not None:
            reporter.step = None
        screen = ProgressScreen(what, reporter, waits=changes)
        await self._app.push_screen(screen)
        try:
            answer = await self._workspace.ask(job)
        finally:
            if screen.is_active:
                await screen.dismiss()
            for note in reporter.take_notes() if reporter is not None else ():
                self._app.notify(note, markup=False)
        if noted is not None:
            noted(answer)
        if screen.leaving:
            self._app.exit()
            raise asyncio.CancelledError("the picker closes")
        return answer
