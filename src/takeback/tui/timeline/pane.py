"""The timeline with its search: read after the first frame, and again when something is new."""

from __future__ import annotations

from asyncio import wrap_future

from textual.containers import Vertical
from textual.message import Message

from takeback.errors import TakebackError
from takeback.tui.timeline.list import TimelineList
from takeback.tui.timeline.narrowing import FILE, Narrowing
from takeback.tui.timeline.page import first_page
from takeback.tui.timeline.rows import build
from takeback.tui.timeline.search import SearchLine
from takeback.visible import shown
from takeback.words import listing as words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from concurrent.futures import Future
    from typing import Any

    from textual.app import ComposeResult
    from textual.worker import Worker

    from takeback.app.workspace_thread import WorkspaceThread
    from takeback.model.row import TimelineRow
    from takeback.timeline.timeline import Browsed, TimelineEntry
    from takeback.tui.timeline.narrowing import Filter
    from takeback.tui.timeline.page import Page
    from takeback.tui.timeline.rows import Rows

    Job = Callable[..., Awaitable[None]]

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
