"""What can be done at an entry, in words, and why the rest cannot."""

from __future__ import annotations

from takeback.model.operation import way
from takeback.visible import shown
from takeback.words.text import count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.app.actions import Action, ActionName, Obstacle

_TITLES: dict[ActionName, str] = {
    "both": "Files and conversation",
    "conversation": "The conversation only",
    "files": "The files only",
    "ticked": "Only the ticked files",
    "revert": "Revert this turn only, keep what came later",
    "end": "To the end of this turn instead",
    "before": "To before this turn instead",
    "fork": "Fork: a new session with this conversation",
    "fork files": "Fork, and the files here go back too",
    "fork directory": "Fork into a new directory, with its files",
    "summarise from": "Summarise what was said from here on",
    "summarise up to": "Summarise what was said up to here",
    "label": "Label it",
    "copy": "Copy its id",
    "undo": "Undo the last rewind",
    "redo": "Redo what was undone",
    "cancel": "Cancel",
}
"""What a person can choose at a place, by name; the rooms have the operations."""
_OBSTACLES: dict[Obstacle, str] = {
    "no_conversation": "there is no conversation",
    "no_files": "its files have expired",
    "no_tick": "no file is ticked",
    "other_end": "the hunks are ticked for going to before the turn",
    "no_turn": "it is in no turn of an agent",
    "no_end": "the turn has no end yet",
    "nothing_to_undo": "nothing to undo",
    "nothing_to_redo": "nothing to redo",
}


def title(action: Action) -> str:
    """Returns what a person can choose, in words."""
    if action.of is not None:
        of = action.of
        where = shown(of.where)
        return f"{action.name.capitalize()} the last {of.kind}, {way(of.kind)} {where}"
    if action.hunks:
        files = [count(action.ticked, "file")] if action.ticked else []
        return f"Only what is ticked: {', '.join((*files, count(action.hunks, 'hunk')))}"
    if action.ticked:
        return f"Only the {count(action.ticked, 'ticked file')}"
    return _TITLES[action.name]


def obstacle(action: Action) -> str:
    """Returns why an action is not possible, in words; empty if it is."""
    if action.obstacle is None:
        return ""
    return shown(action.detail) or _OBSTACLES[action.obstacle]


def offer(action: Action) -> str:
    """Returns one line of a list of actions: what it is and, in words, why it is not possible."""
    why = obstacle(action)
    return title(action) + (f"  (not possible: {why})" if why else "")
