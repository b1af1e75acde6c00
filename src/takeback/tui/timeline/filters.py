"""The choice of a filter: one agent, session, label or file."""

from __future__ import annotations

from rich.text import Text
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from takeback.tui.timeline.narrowing import FILE, Filter, filters
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from textual.app import ComposeResult

    from takeback.timeline.timeline import Browsed


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
