"""The main screen: the timeline, the detail of the chosen row, the keys at the foot."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.screen import Screen

from takeback.app.proposal import NOTHING_TICKED
from takeback.tui import pieces
from takeback.tui.bars import KeyBar, TitleBar
from takeback.tui.pieces import TIMELINE_PERCENT, WIDE
from takeback.tui.timeline.pane import SearchLine, TimelinePane
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from concurrent.futures import Future
    from typing import Any

    from textual import events
    from textual.app import ComposeResult
    from textual.worker import Worker

    from takeback.app.threads import WorkspaceThread
    from takeback.model.operation import StepKind
    from takeback.timeline.timeline import TimelineEntry
    from takeback.tui.detail.view import DetailView
    from takeback.tui.flow import Flow
    from takeback.tui.picker import PickerApp
    from takeback.tui.timeline.lines import Page
    from takeback.tui.timeline.list import TimelineList

    Job = Callable[..., Awaitable[None]]

_FLOW = "flow"
_SOON = 1.0
"""Seconds that keys wait for the detail."""
_LONG = 20.0
"""Seconds that a warning stays, to be read."""


class MainScreen(Screen[None]):
    """Everything for looking; screens above it ask what to do."""

    ALLOW_IN_MAXIMIZED_VIEW = "KeyBar"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide")]  # noqa: RUF012 - as Textual has it
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "actions", show=False),
        # At once, before the next key is handled: that is a letter of the search.
        Binding("slash", "search", "search", show=False, priority=True),
        Binding("f", "filter", "filter", show=False, priority=True),
        Binding("u", "step('undo')", "undo", show=False),
        Binding("r", "step('redo')", "redo", show=False),
        Binding("o", "operations", "operations", show=False),
        Binding("l", "label", "label", show=False),
        Binding("v", "detail('view')", "view", show=False),
        Binding("y", "copy", "copy id", show=False),
        Binding("t", "app.switch_theme", "theme", show=False),
        Binding("question_mark", "help", "help", show=False),
        Binding("escape", "step_back", "step back", show=False),
        Binding("q", "leave", "quit", show=False),
    ]
    DEFAULT_CSS = """
    MainScreen { layout: vertical; }
    MainScreen > #panes { layout: vertical; height: 1fr; }
    MainScreen #timeline { height: 3fr; width: 1fr; }
    MainScreen #detail { height: 2fr; }
    MainScreen #detail:focus-within { height: 6fr; }
    MainScreen.-wide > #panes { layout: horizontal; }
    MainScreen.-wide #timeline { width: LEFT%; height: 1fr; }
    MainScreen.-wide #detail, MainScreen.-wide #detail:focus-within {
        width: RIGHT%; height: 1fr; border-left: solid $primary 60%;
    }
    MainScreen.-wide #detail:focus-within { border-left: solid $accent; }
    """.replace("LEFT", str(TIMELINE_PERCENT)).replace("RIGHT", str(100 - TIMELINE_PERCENT))

    def __init__(
        self,
        workspace: WorkspaceThread,
        where: str,
        now: Callable[[], float],
        first: Future[Page] | None = None,
        seen: Page | None = None,
    ) -> None:
        super().__init__()
        self._workspace = workspace
        self._now = now
        self.timeline = TimelinePane(workspace, now, first, seen, id="timeline")
        self.detail: DetailView | None = None
        """Made when the first rows are on the screen."""
        self._title = TitleBar(where, "" if seen is None else seen.summary)
        self._keys = KeyBar(pieces.TIMELINE)
        self._whole = asyncio.Event()
        """Set once nothing is left that was interrupted before."""
        self._is_recovering = False
        self._has_warned = False

    def compose(self) -> ComposeResult:
        # Textual does this after the first frame, in which the rows would be too wide.
        self.set_class(self.app.size.width >= WIDE, "-wide")
        yield self._title
        yield Container(self.timeline, id="panes")
        yield self._keys

    @property
    def picker(self) -> PickerApp:
        from takeback.tui.picker import PickerApp

        assert isinstance(self.app, PickerApp)
        return self.app

    def on_mount(self) -> None:
        self.timeline.list.focus()
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        """Starts reading after the first frame; recovers first what was interrupted."""
        self.run_worker(self._recovered(), exit_on_error=False)
        self.timeline.begin()
        self.set_timer(_SOON, self._hear)

    def on_timeline_pane_summary(self, event: TimelinePane.Summary) -> None:
        self._title.say(event.text)
        if self.timeline.trouble:
            self._hear()
        reporter = self._workspace.reporter
        for note in reporter.take_notes() if reporter is not None else ():
            self.notify(shown(note), markup=False)

    # -- the detail

    async def on_timeline_pane_ready(self) -> None:
        # Imported only now: the first rows need not wait for it.
        from takeback.tui.detail.view import DetailView

        if self.detail is None:
            self.detail = DetailView(self._workspace, self._now, id="detail")
            await self.query_one("#panes").mount(self.detail)
        row = self.timeline.list.chosen
        self._show_detail(None if row is None else self.timeline.list.entry_of(row))
        self._hear()
        if not self._has_warned:
            self._has_warned = True
            self.run_worker(self._warn(), exit_on_error=False)

    async def _warn(self) -> None:
        """Says which agents worked here unheard: their turns are not among the rows."""
        from takeback.words.status import warning

        for one in await self._workspace.ask(lambda tb: tb.silence()):
            self.notify(warning(one), severity="warning", timeout=_LONG, markup=False)

    def on_timeline_pane_chosen(self, event: TimelinePane.Chosen) -> None:
        self._show_detail(event.entry)

    def _show_detail(self, entry: TimelineEntry | None) -> None:
        if self.detail is not None:
            self.detail.show(entry)

    def action_detail(self, name: str) -> None:
        """Runs an action of the detail, wherever the focus is."""
        if self.detail is not None:
            getattr(self.detail, f"action_{name}")()

    # -- keys

    def _hear(self) -> None:
        """Has the keys heard that were typed so far, unless questions come first."""
        if not self._is_recovering:
            self.picker.hear()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        bar, detail = self._keys, self.detail
        if isinstance(event.widget, SearchLine):
            bar.show(pieces.SEARCH)
        elif detail is not None and detail in event.widget.ancestors_with_self:
            bar.show(pieces.DIFF if event.widget.id == "diff" else pieces.DETAIL)
        else:
            bar.show(pieces.TIMELINE)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leaves letters to an input that has the focus."""
        return action not in ("search", "filter") or not isinstance(self.focused, SearchLine)

    async def action_search(self) -> None:
        self.set_focus(await self.timeline.open_search())

    async def action_filter(self) -> None:
        from takeback.tui.timeline.pane import FilterScreen

        if self.timeline.browsed is not None:
            screen = FilterScreen(self.timeline.browsed)
            await self.app.push_screen(screen, self.timeline.filter_by)

    def action_step_back(self) -> None:
        """Goes back one stage: out of the detail, a search, a filter, and finally the picker."""
        detail = self.detail
        if self.maximized is not None:
            self.minimize()
        elif detail is not None and detail.has_focus_within:
            self.timeline.list.focus()
        elif not self.timeline.step_back():
            self.action_leave()

    def action_leave(self) -> None:
        self.app.exit()

    def action_help(self) -> None:
        from takeback.tui.bars import HelpScreen

        self.app.push_screen(HelpScreen())

    def action_copy(self) -> None:
        row = self.timeline.list.chosen
        if row is not None:
            self.app.copy_to_clipboard(row.id)
            self.notify(f"Copied: {row.id}", markup=False)

    # -- flows: screens above this one, one after the other

    def _run_flow(self, job: Job, *about: Any) -> Worker[None] | None:
        """Starts a flow, unless one is under way; reads what it changed afterwards."""

        async def followed() -> None:
            await self._whole.wait()
            await job(*about)
            self.timeline.look_again()

        if any(w.group == _FLOW and not w.is_finished for w in self.workers):
            return None
        return self.run_worker(followed, group=_FLOW, exit_on_error=False)

    async def _recovered(self) -> None:
        """Finishes or rolls back what was interrupted, as every changing command does.

        Whatever is to be done waits for that.
        """
        try:
            if await self._workspace.ask(lambda tb: tb.interrupted):
                from takeback.tui.dialog import Recovery

                self._is_recovering = True
                recovery = Recovery(self.picker, self._workspace)
                await recovery.guarded(recovery.recover())
                self.timeline.look_again()
        finally:
            self._whole.set()
            if self._is_recovering:
                self._is_recovering = False
                self._hear()

    def on_timeline_list_opened(self, event: TimelineList.Opened) -> None:
        self.action_open()

    def action_open(self) -> None:
        self._run_flow(self._travel)

    async def _travel(self) -> None:
        entry = await self.timeline.entry()
        if entry is not None:
            ticked = NOTHING_TICKED if self.detail is None else self.detail.ticked
            done = await self._flow().travel(entry, ticked)
            if done is not None and self.detail is not None:
                self.detail.untick_hunks()

    def action_label(self) -> None:
        self._run_flow(self._label)

    async def _label(self) -> None:
        entry = await self.timeline.entry()
        if entry is not None:
            await self._flow().label(entry)

    def action_step(self, kind: StepKind) -> None:
        self._run_flow(self._step, kind)

    async def _step(self, kind: StepKind) -> None:
        await self._flow().step(kind)

    def action_operations(self) -> None:
        self._run_flow(self._operations)

    async def _operations(self) -> None:
        await self._flow().operations()

    def _flow(self) -> Flow:
        from takeback.tui.flow import Flow  # with all the screens, which the first rows do not need

        return Flow(self.picker, self._workspace)
