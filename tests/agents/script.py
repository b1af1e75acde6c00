"""What a scripted model does: for each mark in a prompt, its answers one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.agents.dialogue import HUMAN, Dialogue

SIDE = "side"
SUMMARY = "Write a summary that will stand in for it"
"""What takeback asks for a summary with; in a script, the mark of the answers to that."""

# What agents ask beside the conversation: titles, summaries, suggestions.
_HOUSEKEEPING = (
    "create a detailed summary of the conversation",
    "[suggestion mode",
    "generate a concise, single-line task title",
    "context checkpoint compaction",
)


@dataclass(frozen=True)
class Tool:
    """One call of a tool; ``text`` instead of ``args`` for tools that take free text."""

    name: str
    args: Mapping[str, Any] = field(default_factory=dict)
    text: str | None = None


@dataclass(frozen=True)
class Step:
    """One answer of the model, given after ``delay`` seconds.

    If it ``meets`` a prompt, not before the model was asked that one too, by another agent.
    """

    text: str = ""
    tools: Sequence[Tool] = ()
    delay: float = 0.0
    meets: str = ""


Script = Mapping[str, Sequence[Step]]
"""The steps of a turn by a mark that its prompt holds, such as ``TURN-ONE``."""


def story(
    write: Callable[[str, str], Tool], read: Tool, edit: Tool, shell: Callable[[str], Tool]
) -> Script:
    """Returns the turns that most agents are driven through, by their own tools.

    ``read`` and ``edit`` are of a.txt, whose word becomes one in capitals.
    """
    return {
        "TURN-ONE": [
            Step("Creating.", [write("a.txt", "alpha\n"), write("b.txt", "beta\n")]),
            Step("Created a.txt and b.txt."),
        ],
        "TURN-TWO": [
            Step("Reading.", [read]),
            Step("Editing.", [edit]),
            Step("Shell.", [shell("rm doomed.bin b.txt && printf made > c.txt")]),
            Step("Edited one, deleted two, made one."),
        ],
        "TURN-THREE": [
            Step("", [shell("mkdir sub && mv c.txt sub/d.txt && chmod 600 run.sh")]),
            Step("Moved one."),
        ],
        "TURN-FOUR": [Step("Nothing to do.")],
    }


def choose(script: Script, dialogue: Dialogue, *, needs_tools: bool = True) -> tuple[str, Step]:
    """Returns a label and the answer to a request.

    Nothing is remembered: agents send their history with every request, so the turn is that of
    the newest human text, and the step is how often the model has answered since. Requests
    beside the conversation have no tools, unless the agent has none, or say what they are, or no
    mark.
    """
    text = dialogue.humans[-1] if HUMAN in dialogue.kinds else ""
    if SUMMARY in text:
        steps, number = script[SUMMARY], dialogue.rounds
        return SUMMARY, steps[min(number, len(steps) - 1)]
    mark = next((mark for mark in script if mark in text), None)
    asks_aside = any(phrase in text.lower() for phrase in _HOUSEKEEPING)
    if mark is None or asks_aside or (needs_tools and not dialogue.tools):
        return SIDE, Step("ok")
    steps, number = script[mark], dialogue.rounds
    label = f"{mark}.{number}"
    return label, steps[number] if number < len(steps) else Step("There is nothing more to do.")
