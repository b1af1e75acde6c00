"""The picker: chooses an entry, and calls the operations of the command line."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
import time
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.widgets import OptionList
from textual.widgets.option_list import Option
from textual.worker import Worker, WorkerState

from takeback.app.border import keep_bugs_of_threads
from takeback.tui.dialog import ActionList, Dialog, ProgressScreen, Title
from takeback.tui.main import MainScreen
from takeback.tui.pieces import fitting_theme
from takeback.words import choices, sessions
from takeback.words.text import Paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import Future

    from rich.console import RenderableType
    from textual.screen import Screen
    from textual.widget import Widget

    from takeback.app.threads import WorkspaceThread
    from takeback.model.checkpoint import Resume
    from takeback.timeline.operations import Logged
    from takeback.tui.timeline.lines import Page


# -- the operation log in the picker: what was done, and going before or after any of it


_PLAIN = Paint(on=False)


class OperationsScreen(Dialog[str | None]):
    """Lists the operations, newest first; answers with ``OP.before`` or ``OP.after``."""

    NAME = "Operations"
    BINDINGS = [  # noqa: RUF012 - as Textual has it
        Binding("b", "go('before')", "before it"),
        Binding("a", "go('after')", "after it"),
    ]

    def __init__(self, log: Sequence[Logged], now: float) -> None:
        super().__init__()
        self._log = log[::-1]
        self._now = now

    def head(self) -> Iterator[Widget]:
        yield Title(sessions.WHERE_TO if self._log else sessions.NONE_YET)

    def middle(self) -> Iterator[Widget]:
        yield ActionList(*self._options(), id="operations")

    def _options(self) -> Iterator[Option]:
        for entry in self._log:
            line = Text(sessions.operation_words(entry, _PLAIN, self._now))
            yield Option(line, id=entry.operation.id)

    def on_mount(self) -> None:
        if self._log:
            self.query_one(ActionList).highlighted = 0

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.action_go("before")

    def action_go(self, side: str) -> None:
        """Answers with the state before or after the chosen operation."""
        at = self.query_one(ActionList).highlighted
        if at is not None:
            self.answer(f"{self._log[at].operation.id}.{side}")


# -- the picker as an app: its theme, its main screen, and what is left to say when it has closed


INTERRUPTED, TERMINATED = 130, 143
_INTERRUPTS, _LEAVES = ("ctrl+c", "ctrl+q"), ("q", "escape")
_PATIENCE = 1.0
"""Seconds that a key may take before the next one is heard."""
_OTHER = {
    "textual-dark": "textual-light",
    "textual-light": "textual-dark",
    "ansi-dark": "ansi-light",
    "ansi-light": "ansi-dark",
}


class PickerApp(App[None]):
    """Shows one workspace. It never touches files itself: it asks the workspace for everything."""

    TITLE = "takeback"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "interrupt", "quit", show=False, priority=True),
        Binding("ctrl+q", "interrupt", "quit", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", "to the shell", show=False, priority=True),
    ]

    def __init__(
        self,
        workspace: WorkspaceThread,
        *,
        where: str = "",
        now: Callable[[], float] = time.time,
        first: Future[Page] | None = None,
        seen: Page | None = None,
        theme: str | None = None,
        put_back: Callable[[], None] | None = None,
    ) -> None:
        """``first`` is the first page, if it is already being read.

        ``seen`` is the one that is on the screen: nothing else is shown until ``first`` is read.
        ``put_back`` restores the terminal's original settings.
        """
        # Without colours only the terminal's own two are used, and no grey.
        bare = bool(os.environ.get("NO_COLOR"))
        super().__init__(ansi_color=True if bare else None)
        self.workspace = workspace
        self._where = where
        self._now = now
        self._first = first
        self._seen = seen
        self._put_back = put_back
        self._done: list[list[str]] = []
        self.resume_with: Resume | None = None
        """The session to continue with; run.py starts it when the screen is closed."""
        self.failure: BaseException | None = None
        """A bug that ended the picker."""
        self._is_closing = False
        self._held: list[events.Event] | None = []
        """What was typed before anybody could hear it; None once it is heard at once."""
        self._heard: events.Event | None = None
        few = bare or self.console.color_system == "standard"
        self.theme = theme or fitting_theme(os.environ, few_colors=few)

    def get_default_screen(self) -> Screen[None]:
        return MainScreen(self.workspace, self._where, self._now, self._first, self._seen)

    def on_mount(self) -> None:
        if threading.current_thread() is threading.main_thread():
            loop = asyncio.get_running_loop()
            keep_bugs_of_threads()
            loop.add_signal_handler(signal.SIGTERM, self._terminate)

    # -- what is typed before the screen is ready: its rows stand there before the library is loaded

    async def on_event(self, event: events.Event) -> None:
        """Holds keys until they can be heard; one that ends the picker is heard at once."""
        typed = isinstance(event, (events.InputEvent, events.Paste)) and not event.is_forwarded
        asked = len(self.screen_stack) > 1  # a question about what was interrupted
        if self._held is None or not typed or event is self._heard or asked:
            await super().on_event(event)
            return
        key = event.key if isinstance(event, events.Key) else None
        if key in _INTERRUPTS:
            self.exit(return_code=INTERRUPTED)
        elif key in _LEAVES and not self._held:  # else it may be a letter of a search
            self.exit()
        elif not isinstance(event, events.MouseMove):
            self._held.append(event)

    def hear(self) -> None:
        """Hears what was typed so far, one after the other, and from then on everything at once."""
        if self._held is not None and self._heard is None:
            self.run_worker(self._hear(), group="hear", exit_on_error=False)

    async def _hear(self) -> None:
        while self._held:
            self._heard = self._held.pop(0)
            self.post_message(self._heard)
            await self._answered()
        self._held = None

    async def _answered(self) -> None:
        """Waits until a key has gone its way: to whoever has the focus, and up from there."""
        for pump in (self, *(self.focused or self.screen).ancestors_with_self):
            done = asyncio.Event()
            if pump.call_later(done.set):
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(done.wait(), _PATIENCE)

    def note_done(self, lines: Iterable[str]) -> None:
        """Notes what an operation did, to be printed in the terminal when the picker has closed."""
        told = list(lines)
        if told:
            self._done.append(told)

    def farewell(self) -> list[str]:
        """Returns what is left to say in the terminal: what was done, how to continue."""
        if not self._done:
            return []
        several = [choices.several_done(len(self._done))] if len(self._done) > 1 else []
        return [*several, *self._done[-1]]

    def action_suspend_process(self) -> None:
        """Gives the terminal back to the shell until it says ``fg``; not while files change."""
        if isinstance(self.screen, ProgressScreen):
            return
        with self.suspend():
            if self._put_back is not None:
                self._put_back()
            # To the whole job, as the terminal itself does. If no shell could bring it back, the
            # system ignores this signal.
            ours = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
            os.kill(0, signal.SIGTSTP)
            signal.signal(signal.SIGTSTP, ours)

    def _terminate(self) -> None:
        """Quits because the process was told to end; work that changes files is finished first."""
        if isinstance(self.screen, ProgressScreen):
            self.screen.action_leave()
        else:
            self.exit(return_code=TERMINATED)

    def action_switch_theme(self) -> None:
        """Toggles between dark and light."""
        self.theme = _OTHER.get(self.theme, "textual-dark")

    def action_interrupt(self) -> None:
        """Quits; while work is under way, its progress screen decides when."""
        leave = getattr(self.screen, "action_leave", None)
        if leave is not None and not isinstance(self.screen, MainScreen):
            leave()
        else:
            self.exit(return_code=INTERRUPTED)

    def exit(
        self, result: None = None, return_code: int = 0, message: RenderableType | None = None
    ) -> None:
        self._is_closing = True
        super().exit(result, return_code, message)

    def _handle_exception(self, error: Exception) -> None:
        """Ends the picker after a bug in a widget.

        One that comes into being while the picker closes around it has no parts, and says so.
        """
        if not self._is_closing:
            self.failure = self.failure or error
            super()._handle_exception(error)

    def _fatal_error(self) -> None:
        """Ends the picker; its library would print a traceback with the values of all variables."""
        self.panic()

    def panic(self, *renderables: RenderableType) -> None:
        """Ends the picker; what it was is said in the terminal, as by every other command."""
        super().panic()

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Ends the picker after a bug, so that it can be reported in the terminal."""
        if event.state is WorkerState.ERROR and not self._is_closing:
            self.failure = event.worker.error
            self.exit(return_code=1)
