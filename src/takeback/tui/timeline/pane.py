"""The timeline's pane: its list, what it is narrowed to, and the search in it."""

from __future__ import annotations

from asyncio import wrap_future
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from takeback.errors import TakebackError
from takeback.model.address import label_words
from takeback.model.value import Value
from takeback.tui.timeline.lines import build, first_page
from takeback.tui.timeline.list import TimelineList
from takeback.visible import shown
from takeback.words import listing as words
from takeback.words.text import count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from concurrent.futures import Future
    from typing import Any

    from textual.app import ComposeResult
    from textual.timer import Timer
    from textual.worker import Worker

    from takeback.app.threads import WorkspaceThread
    from takeback.model.row import TimelineRow
    from takeback.timeline.timeline import Browsed, TimelineEntry
    from takeback.tui.timeline.lines import Page, Rows

    Job = Callable[..., Awaitable[None]]

# -- what the list is narrowed to: what was searched for, and one agent, session, label or file


AGENT, SESSION, LABEL, FILE = "agent", "session", "label", "file"


class Filter(Value):
    """Rows of one kind only. ``title`` says it in words; a file is looked up by its ``value``."""

    kind: str
    value: str
    title: str


class Narrowing(Value):
    """What is searched for, and the rows that match; ``None`` if nothing is searched for."""

    sought: str = ""
    found: frozenset[str] | None = None
    only: Filter | None = None
    with_file: frozenset[str] = frozenset()

    @property
    def words(self) -> list[str]:
        """What the list is narrowed to, for a title."""
        said = [f"search: {shown(self.sought)}"] if self.sought else []
        return said + ([f"only {self.only.title}"] if self.only is not None else [])

    def rows(self, browsed: Browsed) -> Sequence[TimelineRow]:
        """Returns the rows that are left."""
        rows: Sequence[TimelineRow] = browsed.rows
        if self.found is not None:
            rows = [row for row in rows if row.id in (self.found or ())]
        return rows if self.only is None else self._kept(browsed, rows, self.only)

    def _kept(
        self, browsed: Browsed, rows: Sequence[TimelineRow], only: Filter
    ) -> list[TimelineRow]:
        if only.kind == AGENT:
            mine = {s.id for s in browsed.sessions if s.agent == only.value}
            return [row for row in rows if row.session in mine]
        if only.kind == SESSION:
            return [row for row in rows if row.session == only.value]
        if only.kind == LABEL:
            return [row for row in rows if row.label is not None and only.value in ("", row.label)]
        return [row for row in rows if row.id in self.with_file]


def filters(browsed: Browsed) -> list[tuple[Filter, str]]:
    """Returns the filters that leave anything, each with how much that is."""
    names = words.session_names(browsed.sessions)
    agents: dict[str, str] = {s.id: s.agent for s in browsed.sessions if s.agent is not None}
    by_agent: dict[str, int] = {}
    by_session: dict[str, int] = {}
    for row in browsed.rows:
        agent = agents.get(row.session)
        if agent is not None:
            by_session[row.session] = by_session.get(row.session, 0) + 1
            by_agent[agent] = by_agent.get(agent, 0) + 1
    labelled = [row for row in browsed.rows if row.label is not None]
    found = [
        (Filter(AGENT, agent, f"agent {shown(agent)}"), count(rows, "row"))
        for agent, rows in by_agent.items()
    ]
    found += [
        (Filter(SESSION, session, f"session {names[session]}"), count(rows, "row"))
        for session, rows in by_session.items()
        if list(agents.values()).count(agents[session]) > 1  # else its agent says the same
    ]
    if labelled:
        found.append((Filter(LABEL, "", "anything with a label"), count(labelled, "row")))
    found += [
        (Filter(LABEL, row.label, f"label {label_words(row)}"), words.name(row))
        for row in labelled
        if row.label is not None
    ]
    return found


# -- the choice of a filter: one agent, session, label or file


class FilterScreen(ModalScreen[Filter | None]):
    """A list of filters; typing narrows it, also by a part of a file's path."""

    DEFAULT_CSS = """
    FilterScreen { align: center middle; }
    FilterScreen > Vertical {
        width: 90%; max-width: 72; height: 80%; max-height: 24;
        border: round $primary; border-title-style: bold; background: $surface; padding: 0 1;
    }
    FilterScreen Input, FilterScreen Input:focus { border: none; height: 1; margin: 0 0 1 0; }
    FilterScreen OptionList { height: 1fr; border: none; background: $surface; }
    FilterScreen OptionList:focus { border: none; }
    """
    BINDINGS = [  # noqa: RUF012 - as Textual has it
        Binding("escape", "step_back", "step back"),
        Binding("down", "move(1)", show=False),
        Binding("up", "move(-1)", show=False),
    ]

    def __init__(self, browsed: Browsed) -> None:
        super().__init__()
        self._offered = filters(browsed)
        self._shown: list[Filter] = []
        self._typed = ""

    def compose(self) -> ComposeResult:
        frame = Vertical(
            Input(placeholder="type to narrow the list, or a part of a file's path"),
            OptionList(),
        )
        frame.border_title = "Show only"
        frame.border_subtitle = "enter chooses, esc steps back"
        yield frame

    def on_mount(self) -> None:
        self.query_one(OptionList).can_focus = False
        self._fill("")

    def _fill(self, typed: str) -> None:
        self._typed = typed
        fitting = [(f, n) for f, n in self._offered if typed.lower() in f.title.lower()]
        if typed:
            fitting.append((Filter(FILE, typed, f"files with {shown(typed)} in their path"), ""))
        self._shown = [wanted for wanted, _ in fitting]
        options = self.query_one(OptionList)
        options.clear_options()
        for wanted, number in fitting:
            options.add_option(Option(Text.assemble(wanted.title, ("  " + number, "dim"))))
        options.highlighted = 0 if fitting else None

    def on_input_changed(self, event: Input.Changed) -> None:
        self._fill(event.value.strip())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.value.strip() != self._typed:  # Enter came before the list was filled
            self._fill(event.value.strip())
        at = self.query_one(OptionList).highlighted
        if at is not None:
            self._answer(self._shown[at])

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self._answer(self._shown[event.option_index])

    def action_move(self, by: int) -> None:
        options = self.query_one(OptionList)
        if by > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()

    def action_step_back(self) -> None:
        self._answer(None)

    def _answer(self, wanted: Filter | None) -> None:
        if self.is_active:
            self.dismiss(wanted)


# -- the search line: what is typed is searched at once, and the newest question wins


_REST = 0.12
"""Seconds without a key before a search begins: too short to notice, longer than one letter."""


class SearchLine(Input):
    """A line over the list. It posts ``Sought`` when its text has been the same for a moment."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "move(1)", "older", show=False),
        Binding("up", "move(-1)", "newer", show=False),
    ]
    DEFAULT_CSS = """
    SearchLine { height: 1; border: none; padding: 0 1; background: $surface; }
    SearchLine:focus { border: none; }
    """

    class Sought(Message):
        """The text has changed; if it is empty, everything is shown."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Kept(Message):
        """Enter: the person has found it, or gives up with an empty line."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Moved(Message):
        """An arrow was pressed, meant for the cursor of the list."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    def __init__(self) -> None:
        super().__init__(placeholder="search prompts and paths")
        self._timer: Timer | None = None
        self._said = ""

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_REST, self._say)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._say()
        self.post_message(self.Kept(self.value.strip()))

    def _say(self) -> None:
        text = self.value.strip()
        if text != self._said:
            self._said = text
            self.post_message(self.Sought(text))

    def action_move(self, by: int) -> None:
        self.post_message(self.Moved(by))


# -- the timeline with its search: read after the first frame, and again when something is new


_BEAT = 1.0
"""Seconds between two checks for something new."""
_AGES = 20
"""Beats after which the ages are drawn again."""


class TimelinePane(Vertical):
    """A search line over the list. It posts which entry is chosen, and a summary in words."""

    class Chosen(Message):
        """The chosen entry, None if there is none; posted again when it changes."""

        def __init__(self, entry: TimelineEntry | None) -> None:
            super().__init__()
            self.entry = entry

    class Summary(Message):
        """What the list shows now, in words."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Ready(Message):
        """The first rows are on the screen."""

    def __init__(
        self,
        workspace: WorkspaceThread,
        now: Callable[[], float],
        first: Future[Page] | None = None,
        seen: Page | None = None,
        *,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._workspace = workspace
        self._first = first
        self._seen = seen
        self.list = TimelineList(now, id="rows")
        self.search: SearchLine | None = None
        """The search line, while it is open."""
        self.browsed: Browsed | None = None
        self._narrowing = Narrowing()
        self._is_read = False
        """Whether the first page is here; what was on the screen before the library is not it."""
        self._looking = False
        self._beats = 0
        self.trouble = ""
        self._amount = words.READING

    def compose(self) -> ComposeResult:
        yield self.list

    # -- reading

    def begin(self) -> None:
        """Starts reading, and then checking for what is new."""
        self._work("look", self._read_all)
        self.set_interval(_BEAT, self._beat)

    def _work(self, group: str, job: Job, *about: Any) -> Worker[None]:
        """Runs a job; a newer one of its group replaces it."""

        # A function, not a coroutine: one that is replaced before it has begun is never awaited.
        async def work() -> None:
            await self._told(job, *about)

        return self.run_worker(work, group=group, exclusive=True, exit_on_error=False)

    async def _told(self, job: Job, *about: Any) -> None:
        """Shows a failure at the top; the picker goes on."""
        trouble = ""
        try:
            await job(*about)
        except TakebackError as error:
            trouble = shown(error.message)
        if trouble != self.trouble:
            self.trouble = trouble
            self._say()

    def on_mount(self) -> None:
        """Shows what has been read by the first frame: at least what is on the screen already."""
        if self._seen is not None:
            self._show_page(self._seen)
        if self._first is not None and self._first.done() and self._first.exception() is None:
            self._show_page(self._first.result())
            self._is_read = True

    def _show_page(self, page: Page) -> None:
        self.browsed = page.browsed
        self.list.know(page.entries)
        self._draw(page.browsed, page.rows, page.browsed.rows)

    async def _read_all(self) -> None:
        """Reads the newest rows, unless that has been done, and then all of them."""
        self._looking = True
        try:
            if not self._is_read:
                begun, self._first = self._first or self._workspace.start(first_page), None
                self._show_page(await wrap_future(begun))
                self._is_read = True
            self.post_message(self.Ready())
            if self.browsed is not None and not self.browsed.whole:
                await self.reload()
        finally:
            self._looking = False

    async def reload(self) -> None:
        await self._show(await self._workspace.ask(lambda tb: tb.browse()))

    async def _show(self, browsed: Browsed) -> None:
        self.browsed = browsed
        await self._narrow(self._narrowing)

    async def _narrow(self, narrowing: Narrowing) -> None:
        """Draws the rows that match search and filter."""
        self._narrowing = narrowing
        browsed = self.browsed
        if browsed is None:
            return
        items = narrowing.rows(browsed)
        # in the workspace's thread: the lanes of ten thousand rows take some 60 ms
        rows = await self._workspace.ask(lambda tb: build(browsed, items))
        if browsed is not self.browsed or narrowing is not self._narrowing:
            return  # something newer is on its way
        self._draw(browsed, rows, items)

    def _draw(self, browsed: Browsed, rows: Rows, items: Sequence[TimelineRow]) -> None:
        instead = words.NOTHING_FOUND if browsed.rows else words.NO_CHECKPOINTS
        self.list.show(browsed, rows, sought=self._narrowing.sought, instead=instead)
        self._amount = words.summary(items, whole=browsed.whole)
        self._say()

    def _say(self) -> None:
        said = [self.trouble, *self._narrowing.words, self._amount]
        self.post_message(self.Summary(" · ".join(filter(None, said))))

    def _beat(self) -> None:
        """Checks for something new once a second; reads nothing unless there is."""
        self._beats += 1
        if self._beats % _AGES == 0:
            self.list.refresh()
        if not self._looking:
            self._work("look", self.look if self._is_read else self._read_all)

    async def look(self) -> None:
        """Reads the timeline again if anything in it has changed."""
        self._looking = True
        try:
            mark = await self._workspace.ask(lambda tb: tb.timeline_mark())
            if self.browsed is not None and mark != self.browsed.mark:
                await self.reload()
        finally:
            self._looking = False

    def look_again(self) -> None:
        """Reads what a flow has changed, and posts the chosen entry once more."""
        self._work("look again", self._look_and_tell)

    async def _look_and_tell(self) -> None:
        await self.look()
        self.post_message(self.Chosen(await self.entry()))

    # -- the row that is chosen

    def on_timeline_list_chosen(self, event: TimelineList.Chosen) -> None:
        event.stop()
        self._tell(event.row)

    def _tell(self, row: TimelineRow | None) -> None:
        entry = None if row is None else self.list.entry_of(row)
        if row is None or entry is not None:
            self.post_message(self.Chosen(entry))

    def on_timeline_list_lacking(self, event: TimelineList.Lacking) -> None:
        event.stop()
        self._work("entries", self._fetch, event.ids)

    async def _fetch(self, ids: Sequence[str]) -> None:
        self.list.know(await self._workspace.ask(lambda tb: tb.entries(ids)))
        self._tell(self.list.chosen)

    async def entry(self) -> TimelineEntry | None:
        """Returns the chosen row in full."""
        row = self.list.chosen
        if row is None:
            return None
        known = self.list.entry_of(row)
        if known is None:
            known = (await self._workspace.ask(lambda tb: tb.entries([row.id]))).get(row.id)
        return known

    # -- search and filter

    async def open_search(self) -> SearchLine:
        """Shows the search line and returns it."""
        if self.search is None:
            self.search = SearchLine()
            await self.mount(self.search, before=self.list)
        return self.search

    def _close_search(self) -> None:
        """Shows everything again, whatever was found or is still being searched for."""
        if self.search is not None:
            self.search.remove()
            self.search = None
        self.list.focus()
        self._work("search", self._seek, "")

    def on_search_line_sought(self, event: SearchLine.Sought) -> None:
        event.stop()
        if self.search is not None:  # else this was typed just before it was closed
            self._work("search", self._seek, event.text)

    async def _seek(self, text: str) -> None:
        found = await self._workspace.ask(lambda tb: tb.matching(*text.split())) if text else None
        await self._narrow(self._narrowing.replace(sought=text, found=found))

    def on_search_line_moved(self, event: SearchLine.Moved) -> None:
        event.stop()
        self.list.action_move(event.by)

    def on_search_line_kept(self, event: SearchLine.Kept) -> None:
        """Moves to what was found; closes an empty line."""
        event.stop()
        if event.text:
            self.list.focus()
        else:
            self._close_search()

    def filter_by(self, wanted: Filter | None) -> None:
        """Shows only what a filter leaves; everything without one."""
        if wanted is not None:
            self._work("search", self._narrow_to, wanted)

    async def _narrow_to(self, only: Filter | None) -> None:
        with_file: frozenset[str] = frozenset()
        if only is not None and only.kind == FILE:
            with_file = await self._workspace.ask(
                lambda tb: tb.matching(only.value, only_paths=True)
            )
        await self._narrow(self._narrowing.replace(only=only, with_file=with_file))

    def step_back(self) -> bool:
        """Clears the search, else the filter; False if there is neither."""
        if self.search is not None or self._narrowing.sought:
            self._close_search()
            return True
        if self._narrowing.only is not None:
            self._work("search", self._narrow_to, None)
            return True
        return False
