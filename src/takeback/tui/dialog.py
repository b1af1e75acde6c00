"""Dialogs: questions on a screen of their own, and what is shown while something runs."""

from __future__ import annotations

import asyncio
from typing import ClassVar, TypeVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Footer, Input, OptionList, Static
from textual.widgets.option_list import Option

from takeback.app.actions import CANCEL, GROUPS, Action
from takeback.app.border import bug
from takeback.errors import TakebackError
from takeback.tui.bars import PAINT, Body
from takeback.tui.pieces import ACTIONS
from takeback.visible import shown
from takeback.words import choices, outcomes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Sequence
    from typing import Any

    from textual import events
    from textual.app import App, ComposeResult
    from textual.widget import Widget

    from takeback.app.engine import Engine
    from takeback.app.proposal import Dispute
    from takeback.app.threads import PolledReporter, WorkspaceThread
    from takeback.tui.picker import PickerApp

# -- what the picker's questions have in common: a frame over the timeline, keys at the foot
#
# Text from outside (prompts, paths, messages) is never read as markup: it is a ``Text``.


T = TypeVar("T")

SCROLLING: tuple[BindingType, ...] = (
    Binding("up,k", "scroll('up')", show=False),
    Binding("down,j", "scroll('down')", show=False),
    Binding("pageup", "scroll('page_up')", show=False),
    Binding("pagedown", "scroll('page_down')", show=False),
    Binding("home", "scroll('home')", show=False),
    Binding("end", "scroll('end')", show=False),
    Binding("left", "app.focus_previous", show=False),
    Binding("right", "app.focus_next", show=False),
)
"""Keys of a dialog with a Body, wherever the focus is."""


class Title(Static):
    """The line at the top of a frame: the question itself."""

    DEFAULT_CSS = """
    Title {
        text-style: bold;
        margin: 0 0 1 0;
    }
    """

    def __init__(self, words: str) -> None:
        super().__init__(Text(words), markup=False, id="title")


class Choice(Button):
    """A button whose words come from outside."""

    DEFAULT_CSS = """
    Choice, Choice:hover, Choice:focus {
        width: auto;
        min-width: 0;
        height: 1;
        margin: 0 1 0 0;
        padding: 0;
        border: none;
        background: transparent;
        background-tint: transparent 0%;
        text-style: none;
    }
    Choice:hover {
        text-style: underline;
    }
    Choice:focus {
        text-style: bold reverse;
    }
    """

    def __init__(self, words: str, *, id: str) -> None:
        super().__init__(Content(words), id=id, compact=True)


class Dialog(ModalScreen[T]):
    """A frame with a head, a middle that scrolls, and a foot that is always visible.

    Esc steps back, which never changes anything.
    """

    DEFAULT_CSS = """
    Dialog {
        align: center middle;
    }
    Dialog > #frame {
        width: 96%;
        max-width: 100;
        height: auto;
        max-height: 100%;
        padding: 0 1;
        border: round $primary;
        border-title-color: $text;
        border-title-style: bold;
        background: $surface;
    }
    Dialog #head {
        dock: top;
        height: auto;
        max-height: 50%;
    }
    Dialog #foot {
        dock: bottom;
        height: auto;
    }
    Dialog #choices {
        height: auto;
        margin: 1 0 0 0;
    }
    Dialog.-narrow #choices {
        layout: vertical;
    }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (78, "-wide")]  # noqa: RUF012 - as Textual has it
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "step_back", "step back")]
    NAME = ""
    """The title in the frame, for people who use a screen reader: which stage this is."""

    def head(self) -> Iterator[Widget]:
        """Yields the top part."""
        yield from ()

    def middle(self) -> Iterator[Widget]:
        """Yields the part that may be longer than the screen."""
        yield from ()

    def foot(self) -> Iterator[Widget]:
        """Yields the question."""
        yield from ()

    def compose(self) -> ComposeResult:
        frame = Vertical(
            Vertical(*self.head(), id="head"),
            *self.middle(),
            Vertical(*self.foot(), id="foot"),
            id="frame",
        )
        frame.border_title = self.NAME
        yield frame
        yield Footer(show_command_palette=False)

    def answer(self, result: T | None) -> None:
        """Closes the dialog with an answer, once.

        A second key or click already on its way would close the screen below.
        """
        if self.is_active:
            self.dismiss(result)

    def action_step_back(self) -> None:
        self.answer(None)

    def action_scroll(self, way: str) -> None:
        body = self.query_one(Body)
        getattr(body, f"scroll_{way}")(animate=False)


# -- asks for one line of text: a label, a directory


class TextPrompt(Dialog[str | None]):
    """Asks; None if the person steps back.

    ``about`` says what the text is for, or what was wrong with the previous one, which is filled in
    for editing.
    """

    NAME = "Type it"
    BINDINGS = [Binding("enter", "submit", "take it")]  # noqa: RUF012 - as Textual has it

    def __init__(self, question: str, about: str, *, value: str = "") -> None:
        super().__init__()
        self._question = question
        self._about = about
        self._value = value

    def middle(self) -> Iterator[Widget]:
        yield Title(shown(self._question))
        yield Static(Text(shown(self._about)), markup=False, id="about")
        yield Input(shown(self._value), id="line", compact=True, select_on_focus=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.answer(event.value.strip())


# -- the list of actions at an entry: what can be done, and why the rest cannot


class ActionList(OptionList):
    """The actions; the cursor skips those that are not possible."""

    DEFAULT_CSS = """
    ActionList, ActionList:focus {
        height: auto;
        max-height: 100%;
        border: none;
        padding: 0;
        background: transparent;
        scrollbar-size-vertical: 1;
    }
    ActionList > .option-list--option-disabled {
        color: $text-muted;
    }
    ActionList:ansi > .option-list--option-highlighted {
        text-style: reverse;
    }
    """
    BINDINGS = [  # noqa: RUF012 - as Textual has it
        Binding("enter", "select", "choose"),
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
    ]


class ActionsScreen(Dialog[Action | None]):
    """Asks what to do; None if the person steps back."""

    NAME = "What to do"

    def __init__(self, about: str, actions: Sequence[Action], *, at: str | None = None) -> None:
        super().__init__()
        self._about = about
        self._actions = actions
        self._at = at

    def head(self) -> Iterator[Widget]:
        yield Title(f"Go back to {shown(self._about)}")

    def middle(self) -> Iterator[Widget]:
        yield ActionList(*self._options(), id="actions")

    def _options(self) -> Iterator[Option | None]:
        for group in GROUPS:
            here = [action for action in self._actions if action.name in group]
            if here and group is not GROUPS[0]:
                yield None
            for action in here:
                yield Option(_line(action), id=action.name, disabled=not action.is_possible)

    def on_mount(self) -> None:
        options = self.query_one(ActionList)
        names = [option.id for option in options.options if not option.disabled]
        wanted = self._at if self._at in names else names[0]
        options.highlighted = options.get_option_index(wanted or "")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self._choose(next(a for a in self._actions if a.name == event.option.id))

    def on_key(self, event: events.Key) -> None:
        for action in self._actions:
            if event.character == ACTIONS[action.name]:
                event.stop()
                self._choose(action)

    def _choose(self, action: Action) -> None:
        if not action.is_possible:
            why = f"{choices.title(action)}: {choices.obstacle(action)}"
            self.notify(why, severity="warning", markup=False)
        else:
            self.answer(None if action.name == CANCEL else action)


def _line(action: Action) -> Text:
    """Returns the key, the words and, in words and not only in grey, why it is not possible."""
    return Text(f" {ACTIONS[action.name]}  {choices.offer(action)}")


# -- the conflicts of a plan: one disputed stretch after the other, with the lines of both sides


class ConflictScreen(Dialog[int | None]):
    """Asks about one disputed stretch; answers which choice it is, from 1, None to step back."""

    NAME = "Both changed the same"
    DEFAULT_CSS = """
    ConflictScreen Choice {
        margin: 0 0 0 0;
    }
    """
    BINDINGS = [*SCROLLING]  # noqa: RUF012 - as Textual has it

    def __init__(self, dispute: Dispute) -> None:
        super().__init__()
        self._dispute = dispute
        self._choices = dispute.conflict.choices

    def head(self) -> Iterator[Widget]:
        dispute = self._dispute
        title = f"{outcomes.title(dispute.conflict, dispute.kind)}."
        yield Title(title if dispute.of == 1 else f"{dispute.number} of {dispute.of}: {title}")

    def middle(self) -> Iterator[Widget]:
        stretch, kind = self._dispute.stretch, self._dispute.kind
        yield Body([] if stretch is None else outcomes.stretch_lines(stretch, kind, PAINT))

    def foot(self) -> Iterator[Widget]:
        yield Vertical(
            Choice(f"{choices.STEP_BACK} (Esc)", id="back"),
            *(
                Choice(f"{outcomes.choice(name)} ({number})", id=f"choice-{number}")
                for number, name in enumerate(self._choices, 1)
            ),
            id="choices",
        )

    def on_mount(self) -> None:
        self.query_one("#back").focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        number = (event.button.id or "").removeprefix("choice-")
        self.answer(int(number) if number.isdigit() else None)

    def on_key(self, event: events.Key) -> None:
        number = event.character or ""
        if number.isascii() and number.isdigit() and 1 <= int(number) <= len(self._choices):
            event.stop()
            self.answer(int(number))


# -- while work is under way: no key starts anything else, and a longer wait shows the progress


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
        text = choices.progress(self._what, step, leaving=self.leaving)
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


# -- what went wrong, what state the files are in, what to do; the picker goes on


class TroubleScreen(Dialog[bool | None]):
    """Shows what happened; True if the person wants an interrupted operation recovered."""

    NAME = "Something went wrong"
    BINDINGS = [  # noqa: RUF012 - as Textual has it
        Binding("r", "recover", "recover now"),
        *SCROLLING,
    ]

    def __init__(self, lines: Sequence[str], *, interrupted: bool = False) -> None:
        super().__init__()
        self._lines = lines
        self._interrupted = interrupted

    def head(self) -> Iterator[Widget]:
        yield Title(self._lines[0])

    def middle(self) -> Iterator[Widget]:
        yield Body(self._lines[1:])

    def foot(self) -> Iterator[Widget]:
        buttons = [Choice("Go on (Esc)", id="enough")]
        if self._interrupted:
            buttons.insert(0, Choice("Recover now (r)", id="recover"))
        yield Horizontal(*buttons, id="choices")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self._interrupted if action == "recover" else True

    def on_mount(self) -> None:
        self.query_one("#recover" if self._interrupted else "#enough").focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.answer(True if event.button.id == "recover" else None)

    def action_recover(self) -> None:
        self.answer(True)


class SaidScreen(TroubleScreen):
    """Says that something ended well."""

    NAME = "Recovered"


def trouble(error: TakebackError, *, interrupted: bool) -> TroubleScreen:
    """Returns the screen that reports an error."""
    lines = list(choices.trouble_lines(error, interrupted=interrupted))
    return TroubleScreen(lines, interrupted=interrupted)


# -- when something goes wrong in the picker: reports it, and recovers what was interrupted


class Recovery:
    """Reports errors and offers to finish or roll back an interrupted operation."""

    def __init__(self, app: PickerApp, workspace: WorkspaceThread) -> None:
        self._app = app
        self._workspace = workspace
        self._progress = Progress(app, workspace)

    async def guarded(self, flow: Coroutine[Any, Any, T]) -> T | None:
        """Turns any failure of a flow into words; the picker goes on."""
        try:
            return await flow
        except Exception as error:  # noqa: BLE001 - a bug must not take the terminal down
            await self._tell(_told(error))
            return None

    async def is_whole(self) -> bool:
        """Recovers what was interrupted, if the person agrees; a plan needs whole files."""
        if not await self._workspace.ask(lambda tb: tb.interrupted):
            return True
        asking = TroubleScreen([choices.INTERRUPTED], interrupted=True)
        if not await self._app.push_screen_wait(asking):
            return False
        await self.recover()
        return True

    async def recover(self) -> None:
        """Finishes or rolls back what was interrupted, and says what was done."""
        done = await self._progress.during(
            choices.RECOVERING,
            lambda tb: tb.recover(),
            changes=True,
            noted=lambda done: self._app.note_done(choices.recovered(done)),
        )
        await self._app.push_screen_wait(SaidScreen(choices.recovered(done)))

    async def _tell(self, error: TakebackError) -> None:
        while True:
            screen = trouble(error, interrupted=await self._is_interrupted())
            if not await self._app.push_screen_wait(screen):
                return
            try:
                await self.recover()
                return
            except Exception as again:  # noqa: BLE001 - as above
                error = _told(again)

    async def _is_interrupted(self) -> bool:
        try:
            return await self._workspace.ask(lambda tb: tb.interrupted)
        except Exception:  # noqa: BLE001 - then the error itself says everything that is known
            return False


def _told(error: Exception) -> TakebackError:
    return error if isinstance(error, TakebackError) else bug(error)
