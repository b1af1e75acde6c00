"""The picker as an app: its theme, its main screen, and what is left when it has closed."""

from __future__ import annotations

import os
import time
from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.worker import Worker, WorkerState

from takeback.tui.main import MainScreen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from textual.screen import Screen

    from takeback.model.session import Resume
    from takeback.tui.desk import Desk
    from takeback.tui.timeline.page import Page

INTERRUPTED = 130
_OTHER = {
    "textual-dark": "textual-light",
    "textual-light": "textual-dark",
    "ansi-dark": "ansi-light",
    "ansi-light": "ansi-dark",
}


class PickerApp(App[None]):
    """Shows one workspace. It never touches it itself: everything is asked of the desk."""

    TITLE = "takeback"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "interrupt", "quit", show=False, priority=True),
        Binding("ctrl+q", "interrupt", "quit", show=False, priority=True),
    ]

    def __init__(
        self,
        desk: Desk,
        *,
        where: str = "",
        now: Callable[[], float] = time.time,
        first: Future[Page] | None = None,
        theme: str | None = None,
    ) -> None:
        """``first`` is the first page, if somebody has begun to read it."""
        # Without colours the terminal's own two are used, and no grey that is none of them.
        bare = bool(os.environ.get("NO_COLOR"))
        super().__init__(ansi_color=True if bare else None)
        self.desk = desk
        self._where = where
        self._now = now
        self._first = first
        self.resume_with: Resume | None = None
        """The session that the person goes on with; run.py starts it when the screen is closed."""
        self.failure: BaseException | None = None
        """A bug that ended the picker."""
        self.theme = theme or _theme(few_colors=bare or self.console.color_system == "standard")

    def get_default_screen(self) -> Screen[None]:
        return MainScreen(self.desk, self._where, self._now, self._first)

    def action_switch_theme(self) -> None:
        """Changes between dark and light."""
        self.theme = _OTHER.get(self.theme, "textual-dark")

    def action_interrupt(self) -> None:
        """Quits; while something is done, the screen that says so decides when."""
        leave = getattr(self.screen, "action_leave", None)
        if leave is not None and not isinstance(self.screen, MainScreen):
            leave()
        else:
            self.exit(return_code=INTERRUPTED)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Ends the picker after a bug, so that it can be told in the terminal."""
        if event.state is WorkerState.ERROR and self.failure is None:
            self.failure = event.worker.error
            self.exit(return_code=1)


def _theme(*, few_colors: bool) -> str:
    """Returns the theme that fits the terminal, as far as it says what it is."""
    # Some terminals say their colours by number: the last one is the background.
    light = os.environ.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15")
    return f"{'ansi' if few_colors else 'textual'}-{'light' if light else 'dark'}"
