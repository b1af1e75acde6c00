"""The detail of an entry: its heading, what it does not hold, its files and their lines."""

from __future__ import annotations

import asyncio
import time
from functools import partial

from textual.binding import Binding
from textual.containers import Container
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Static

from takeback.errors import TakebackError
from takeback.model.value import Value
from takeback.tui.detail.files import FileList, changed_rows, going_rows
from takeback.tui.detail.lines import Patch, Words, coloured, parse
from takeback.tui.detail.pane import DiffPane, Tickable, Ticks
from takeback.words import changes as places
from takeback.words import changes as words
from takeback.words.changes import coverage_lines, error_lines
from takeback.words.text import shown_file, shown_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from typing import ClassVar, Self, TypeVar

    from textual import events
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.worker import Worker

    from takeback.app.engine import Engine
    from takeback.app.proposal import Ticked
    from takeback.app.threads import WorkspaceThread
    from takeback.model.operation import Between, Preview
    from takeback.timeline.timeline import Shown, TimelineEntry
    from takeback.tui.detail.files import FileRow

    T = TypeVar("T")

# -- reads one file's diff for the screen, in the workspace's thread: the screen never waits


class ReadDiff(Value):
    """The lines of a file's diff, the words before them, and what can be ticked of it."""

    patch: Patch
    said: tuple[str, ...]
    tickable: Tickable | None = None


def read_file(tb: Engine, between: Between, row: FileRow, preview: Preview | None) -> ReadDiff:
    """Returns the diff of a file; with ``preview`` it is what going there would change."""
    going = preview is not None
    diff = tb.file_diff(between, row.path)
    patch = parse(diff.patch or b"")
    tickable = None
    if preview is not None and patch.hunks:
        patch, tickable = _with_ticks(tb, preview, row.path, patch)
    said = [*words.by_lines(row.who, going=going), *words.file_lines(diff, going=going)]
    if patch.binary:
        said.append(words.binary_line(diff))
    said += words.content_lines(crlf=patch.crlf, not_utf8=patch.not_utf8)
    return ReadDiff(coloured(patch, shown_path(row.path)), tuple(said), tickable)


def _with_ticks(
    tb: Engine, preview: Preview, path: bytes, patch: Patch
) -> tuple[Patch, Tickable | None]:
    """Returns the hunks of a text as they are ticked; git's own, with their heads, if the same."""
    plan = preview.plan
    planned = (change for change in (*plan.writes, *plan.deletes) if change.path == path)
    change = next(planned, None)
    text = None if change is None or path in plan.saved else tb.text_change(change)
    if change is None or text is None:
        return patch, None
    hunks = text.shown()
    picked = parse(b"".join(text.patch(hunk) for hunk in hunks))
    same = [hunk.lines for hunk in picked.hunks] == [hunk.lines for hunk in patch.hunks]
    return patch if same else picked, Tickable(change, len(hunks))


# -- the head of the detail: where a checkpoint is, the prompt, the tools, what was typed


class Heading(Words, can_focus=False):
    """As many lines as needed, up to a few; the parent scrolls to the rest.

    It takes no focus: Tab should lead from the timeline straight to the files.
    """

    def tell(
        self,
        entry: TimelineEntry | None,
        shown: Shown | None,
        preview: Preview | None,
        now: float,
    ) -> None:
        """Says what is known about an entry so far."""
        if entry is None:
            self.title("nothing chosen")
            self.say(())
            return
        known = entry if shown is None else shown.entry
        self.title(places.place_title(known))
        self.say(_said(known, shown, preview, now))


def _said(
    entry: TimelineEntry, shown: Shown | None, preview: Preview | None, now: float
) -> Iterator[tuple[str, str]]:
    checkpoint = entry.checkpoint
    sound = checkpoint.complete and not checkpoint.late
    yield places.place_line(entry, now), "faint" if sound else "warning"
    if preview is not None:
        for line in words.going_lines(preview):
            yield line, "plain"
    if checkpoint.prompt is not None:
        for line in places.prompt_lines(entry):
            yield line, "strong"
    if shown is not None:
        for line in places.used_lines(shown):
            yield line, "plain"


# -- what a checkpoint does not hold, and why


class CoverageView(Words):
    """Takes the place of the diff for as long as it is open."""

    class Closed(Message):
        """The person has closed it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", show=False)]

    def on_mount(self) -> None:
        self.title("what it holds, and what not")

    def tell(self, found: Shown) -> None:
        """Shows what a checkpoint holds and lacks."""
        sound = found.entry.checkpoint.complete
        self.say(
            (line, "plain" if sound or number else "warning")
            for number, line in enumerate(coverage_lines(found))
        )

    def trouble(self, error: TakebackError | OSError) -> None:
        """Says why this is not known."""
        self.say((line, "warning") for line in error_lines(error))

    def action_close(self) -> None:
        self.post_message(self.Closed())


# -- the detail of one checkpoint. It reads what it shows from the workspace, and changes nothing
#
# heading     where it is, the prompt, the tools
# views       which of the two it is:  what it changed  /  what going there would change now
# files       one line per file, with a box to tick
# diff        of the file under the cursor; or, in its place, what the checkpoint does not hold


CHANGED, GOING = "changed", "going"
_REST = {CHANGED: 0.08, GOING: 0.25}
"""How long, in seconds, the cursor must rest before anything is looked up; a scan takes longer."""
_FILE_REST = 0.04
_SHORT, _WIDE = 24, 72
"""Below this height, and from this width on, files and diff are side by side."""
_TINY = 10
"""Below this height the prompt is left to the timeline."""


class _GoneOn(Exception):
    """Nobody is waiting for the answer any more."""


class DetailView(Widget):
    """Shows one entry of the timeline in full; ``show`` says which."""

    ALLOW_MAXIMIZE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "view", "other view"),
        Binding("s", "side_by_side", "side by side"),
        Binding("c", "coverage", "not held"),
        Binding("z", "larger", "larger"),
        Binding("shift+up", "prompt(-1)", show=False),
        Binding("shift+down", "prompt(1)", show=False),
    ]
    DEFAULT_CSS = """
    DetailView { layout: vertical; height: 1fr; width: 1fr; }
    DetailView.-maximized { width: 1fr !important; height: 1fr !important; }
    DetailView.-maximized { border: none !important; }
    DetailView #heading { height: auto; max-height: 9; }
    DetailView #views { height: 1; color: $foreground-muted; }
    DetailView #body { layout: vertical; height: 1fr; }
    DetailView #files { height: auto; max-height: 35%; min-height: 2; width: 1fr; }
    DetailView #below { height: 1fr; width: 1fr; }
    DetailView #below > * { height: 1fr; }
    DetailView.-short #heading { max-height: 4; }
    DetailView.-tiny #heading { max-height: 2; scrollbar-size-vertical: 0; }
    DetailView.-beside #body { layout: horizontal; }
    DetailView.-beside #files { width: 2fr; height: 1fr; max-height: 100%; margin-right: 1; }
    DetailView.-beside #below { width: 3fr; }
    """

    def __init__(
        self,
        workspace: WorkspaceThread,
        now: Callable[[], float] = time.time,
        *,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._workspace = workspace
        self._now = now
        self._view = CHANGED
        self._entry: TimelineEntry | None = None
        self._shown: Shown | None = None
        self._preview: Preview | None = None
        self._between: Between | None = None
        self._trouble: tuple[str, ...] = ()
        self._drawn: tuple[Between, FileRow] | None = None
        self._ticks = Ticks()
        self._tickable: Tickable | None = None

    def compose(self) -> ComposeResult:
        yield Heading(id="heading")
        yield Static(id="views", markup=False)
        with Container(id="body"):
            yield FileList(self._ticks, id="files")
            with ContentSwitcher(id="below", initial="diff"):
                yield DiffPane(id="diff")
                yield CoverageView(id="coverage")

    def on_mount(self) -> None:
        self._fill()

    @property
    def _files(self) -> FileList:
        return self.query_one("#files", FileList)

    @property
    def _diff(self) -> DiffPane:
        return self.query_one("#diff", DiffPane)

    @property
    def ticked(self) -> Ticked:
        """The files and hunks that the person ticked."""
        return self._ticks.value

    @property
    def view(self) -> str:
        """Which view is shown: ``changed`` or ``going``."""
        return self._view

    def focus(self, scroll_visible: bool = True) -> Self:
        """Moves the focus to the list of files."""
        self._files.focus(scroll_visible)
        return self

    def on_resize(self, event: events.Resize) -> None:
        short = event.size.height < _SHORT
        self.set_class(short, "-short")
        self.set_class(event.size.height < _TINY, "-tiny")
        self.set_class(short and event.size.width >= _WIDE, "-beside")
        self._name_views()

    def _name_views(self) -> None:
        entry, line = self._entry, Content("")
        if entry is not None:
            chosen = 0 if self._view == CHANGED else 1
            here, there = words.views_line(words.views(entry), chosen, self.size.width)
            line = Content.assemble((here, "bold $foreground"), there)
        self.query_one("#views", Static).update(line)

    # -- one entry

    def show(self, entry: TimelineEntry | None) -> None:
        """Shows an entry: at once what it says itself, and then what has to be looked up.

        The same entry is looked up again only if it depends on the present files.
        """
        if entry == self._entry and self._view == CHANGED:
            return
        before, self._entry = self._entry, entry
        if before is None or entry is None or before.checkpoint.id != entry.checkpoint.id:
            self._shown = None
            self._forget()
            self._ticks.clear()
        if self.is_mounted:
            self._fill()

    def _forget(self) -> None:
        self._preview = self._between = self._drawn = None
        self._trouble = ()

    def _fill(self) -> None:
        entry = self._entry
        self._tell_place()
        self._name_views()
        if entry is None:
            self._files.show(())
            return
        if self._view == CHANGED:
            self._files.show(changed_rows(entry), words.nothing(entry))
        elif self._preview is None:
            self._files.show((), words.LOOKING)
        self._work("entry", partial(self._look, entry, self._view))

    def _work(self, group: str, job: Callable[[], Coroutine[None, None, None]]) -> Worker[None]:
        """Runs a job; a newer one of its group replaces it."""
        # A function, not a coroutine: one that is replaced before it has begun is never awaited.
        return self.run_worker(job, group=group, exclusive=True)

    def _tell_place(self) -> None:
        preview = self._preview if self._view == GOING else None
        self.query_one(Heading).tell(self._entry, self._shown, preview, self._now())

    async def _look(self, entry: TimelineEntry, view: str) -> None:
        """Looks up what an entry does not say itself, once the cursor rests."""
        await asyncio.sleep(_REST[view])
        self._stop_if_closed()
        id = entry.checkpoint.id
        coverage = self.query_one(CoverageView)
        try:
            self._shown = await self._ask(entry, lambda tb: tb.show(id))
            coverage.tell(self._shown)
        except (TakebackError, OSError) as error:
            self._stop_if_closed()
            coverage.trouble(error)
        self._tell_place()
        try:
            await (self._look_back(entry) if view == CHANGED else self._look_ahead(entry))
        except (TakebackError, OSError) as error:
            self._stop_if_closed()
            self._forget()
            self._trouble = tuple(words.error_lines(error))
            self._files.show(changed_rows(entry) if view == CHANGED else ())

    async def _look_back(self, entry: TimelineEntry) -> None:
        id = entry.checkpoint.id
        self._between = await self._ask(entry, lambda tb: tb.states(id))
        if self._shown is None or self._shown.entry.shown == entry.shown:
            self._show_file()
        else:  # the turn has continued since the list was read
            self._files.show(changed_rows(self._shown.entry), words.nothing(entry))

    async def _look_ahead(self, entry: TimelineEntry) -> None:
        id = entry.checkpoint.id
        self._preview = await self._ask(entry, lambda tb: tb.preview(id))
        self._between = self._preview.between
        self._tell_place()
        outdated = self._ticks.drop_outdated(self._preview.plan)
        if outdated:
            self.notify(words.unticked(outdated), markup=False)
        self._files.show(going_rows(self._preview), words.NOTHING_WOULD_CHANGE)

    async def _ask(self, entry: TimelineEntry | None, job: Callable[[Engine], T]) -> T:
        """Asks the workspace, unless the cursor has moved on while the question was queued."""

        def asked(tb: Engine) -> T:
            if entry is not self._entry:
                raise _GoneOn
            return job(tb)

        try:
            answer = await self._workspace.ask(asked)
        except _GoneOn:
            raise asyncio.CancelledError from None
        self._stop_if_closed()
        return answer

    def _stop_if_closed(self) -> None:
        """Ends a job whose answer came while the picker was closing: nothing is left to fill."""
        if not self.query(Heading):
            raise asyncio.CancelledError

    # -- one file

    def on_file_list_moved(self, event: FileList.Moved) -> None:
        event.stop()
        if event.by_hand:
            self.query_one(ContentSwitcher).current = "diff"
        self._show_file()

    def _show_file(self) -> None:
        row, between = self._files.here, self._between
        if row is None or between is None or self._trouble or row.reason is not None:
            self._drawn = None
            self._say_instead(row)
        elif self._drawn != (between, row):
            self._drawn = between, row
            self._work("file", partial(self._draw, between, row))

    def _say_instead(self, row: FileRow | None) -> None:
        """Says why there is no diff, or nothing while that is unknown."""
        self.workers.cancel_group(self, "file")
        self._diff.title("diff" if row is None else shown_file(row.path))
        if self._trouble:
            self._diff.say(self._trouble, trouble=True)
        elif row is not None and row.reason is not None:
            self._diff.say([words.left_alone(row.reason)])
        else:
            self._diff.say(())

    async def _draw(self, between: Between, row: FileRow) -> None:
        """Shows the diff of one file, once the cursor rests on it."""
        await asyncio.sleep(_FILE_REST)
        preview = self._preview if self._view == GOING else None
        try:
            read = await self._ask(self._entry, lambda tb: read_file(tb, between, row, preview))
        except (TakebackError, OSError) as error:
            self._stop_if_closed()
            self._diff.say(words.error_lines(error), trouble=True)
        else:
            text = self._tickable = read.tickable
            boxes = None if text is None else partial(self._ticks.hunk_box, text)
            self._diff.show(read, boxes)
        self._diff.title(shown_file(row.path))

    # -- ticks

    def on_file_list_ticked(self, event: FileList.Ticked) -> None:
        event.stop()
        self._diff.refresh()

    def on_diff_pane_ticked(self, event: DiffPane.Ticked) -> None:
        """Ticks a hunk; what has no hunks is ticked as a whole."""
        event.stop()
        if event.number is not None and self._tickable is not None:
            self._ticks.turn_hunk(self._tickable, event.number)
            self._show_ticks()
        elif self._view == CHANGED and self._diff.has_hunks:
            self.notify(words.TICK_ELSEWHERE, markup=False)
        else:
            self._files.action_tick()

    def untick_hunks(self) -> None:
        """Unticks the hunks: an operation was done, and there may be others now."""
        self._ticks.clear_hunks()
        self._show_ticks()

    def _show_ticks(self) -> None:
        self._files.show_ticks()
        self._diff.refresh()

    # -- keys

    def action_view(self) -> None:
        """Toggles between what it changed and what going there would change now."""
        self._view = GOING if self._view == CHANGED else CHANGED
        self._forget()
        self.query_one(ContentSwitcher).current = "diff"
        self._fill()

    def on_click(self, event: events.Click) -> None:
        if event.widget is self.query_one("#views"):
            self.action_view()

    def action_side_by_side(self) -> None:
        self._diff.turn_side_by_side()

    def action_coverage(self) -> None:
        """Shows what the checkpoint does not hold, or the diff again."""
        below = self.query_one(ContentSwitcher)
        if below.current == "coverage":
            self._files.focus()
            below.current = "diff"
        else:
            below.current = "coverage"
            self.query_one(CoverageView).focus()

    def on_coverage_view_closed(self, event: CoverageView.Closed) -> None:
        event.stop()
        self.action_coverage()

    def action_prompt(self, by: int) -> None:
        """Scrolls a prompt that is not wholly visible."""
        self.query_one(Heading).scroll_relative(y=by, animate=False)

    def action_larger(self) -> None:
        """Gives the detail the whole screen, or shrinks it again, as Esc does too."""
        if self.screen.maximized is None:
            self.screen.maximize(self, container=False)
        else:
            self.screen.minimize()
