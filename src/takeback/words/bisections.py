"""What a bisection says, run by run and in the end."""

from __future__ import annotations

from takeback.model.address import label_words
from takeback.visible import shown
from takeback.words.documents import counted
from takeback.words.outcomes import counts
from takeback.words.text import count, shown_file, timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from takeback.bisect.bisect import Bisected, Judged, Place, Run
    from takeback.model.checkpoint import CountedChange
    from takeback.words.text import Paint

_FILES = 20


def run_line(run: Run) -> str:
    """Returns one run: what it said, of which state, how long it took, how many may follow."""
    left = f"; at most {count(run.runs_left, 'more run')}" if run.runs_left else ""
    return f"{run.judged.word:<4}  {place_words(run.place)}  ({duration(run.judged)}{left})"


def duration(judged: Judged) -> str:
    """Returns how long a run took, as people read it."""
    if judged.seconds < 100:
        return f"{judged.seconds:.1f} s"
    return f"{judged.seconds / 60:.0f} min"


def place_words(place: Place) -> str:
    """Says which state it is: the end of a turn, or a checkpoint."""
    if place.turn is not None:
        return place.turn.words
    label = f" {label_words(place.checkpoint)}" if place.checkpoint.label else ""
    return f"{place.checkpoint.id}{label}"


def found_lines(found: Bisected, changes: Sequence[CountedChange], paint: Paint) -> Iterator[str]:
    """Yields what broke it, with its whole prompt and what changed."""
    last = found.broken[-1]
    if not found.told:
        number = len(found.broken)
        yield f"One of these {number} broke it; those before the last could not be judged:"
        yield from (f"  {place_words(place)}" for place in found.broken)
    elif last.turn is None:
        yield f"It broke between the turns, by {paint.id(last.checkpoint.id)}: no turn was running."
    else:
        yield f"It was broken by {last.turn.words}."
        prompt = shown_prompt(last)
        if prompt and prompt not in last.turn.words:
            yield from (f"  {shown(line)}" for line in prompt.splitlines())
    for change in changes[:_FILES]:
        lines = ""
        if change.added is not None and change.deleted is not None:
            lines = f"  {counts(change.added, change.deleted, paint)}"
        yield f"  {change.kind:<8}  {shown_file(change.path)}{lines}"
    if len(changes) > _FILES:
        yield f"  and {count(len(changes) - _FILES, 'more file')}"


def shown_prompt(place: Place) -> str:
    """Returns the prompt of the turn that led to a state; empty if there is none."""
    return "" if place.turn is None else (place.turn.turn.prompt or "").strip()


def run_document(run: Run) -> dict[str, Any]:
    """Returns one run for a program."""
    return {**_place(run.place), **_judged(run.judged), "runs_left": run.runs_left}


def found_document(found: Bisected, changes: Sequence[CountedChange]) -> dict[str, Any]:
    """Returns the end of a bisection for a program."""
    return {
        "found": found.told,
        "good": _place(found.good),
        "broken": [_place(place) for place in found.broken],
        "runs": [_judged(one) for one in found.said],
        "changes": counted(changes),
    }


def _judged(one: Judged) -> dict[str, Any]:
    return {
        "verdict": one.word,
        "status": one.status,
        "seconds": round(one.seconds, 3),
        "time": timestamp(one.time),
        "snapshot": one.snapshot,
    }


def _place(place: Place) -> dict[str, Any]:
    turn = None if place.turn is None else place.turn.turn
    return {
        "checkpoint": place.checkpoint.id,
        "turn": None if turn is None else turn.id,
        "number": None if turn is None else turn.number,
        "session": None if turn is None else turn.session,
        "prompt": None if turn is None else turn.prompt,
    }
