"""The list of actions at an entry: what can be done, and why the rest cannot."""

from __future__ import annotations

from rich.text import Text
from textual.binding import Binding
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from takeback.app.actions import CANCEL, GROUPS, Action
from takeback.tui.dialog import Dialog, Title
from takeback.tui.keys import ACTIONS
from takeback.visible import shown
from takeback.words import actions as words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from textual import events
    from textual.widget import Widget


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
            why = f"{words.title(action)}: {words.obstacle(action)}"
            self.notify(why, severity="warning", markup=False)
        else:
            self.answer(None if action.name == CANCEL else action)


def _line(action: Action) -> Text:
    """Returns the key, the words and, in words and not only in grey, why it is not possible."""
    return Text(f" {ACTIONS[action.name]}  {words.offer(action)}")
