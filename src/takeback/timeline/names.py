"""Names: the checkpoint, the turn or the step that a person means, and the labels that they give.

In this order: exact id, the beginning of one (four characters at least), ``OP.before`` and
``OP.after`` (the states around an operation), a turn, ``@`` and ``@~N``, a time, a label: the only
name that a model can choose redirects no other. ``SESSION/CP`` looks in only one session; without
it, turns and ``@`` are those of the session that is meant.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from takeback.errors import Command, NoSuchCheckpoint, UsageError
from takeback.ledger import by_session as questions
from takeback.model.checkpoint import UNDO
from takeback.model.entries import Turn
from takeback.model.ids import ID_LENGTH, CheckpointId, looks_like_id
from takeback.model.naming import GREEN, NEWEST, TURN, is_turn_name, names_newest, split_name
from takeback.model.operation import moves
from takeback.model.value import Value
from takeback.store.records import Label, read_labels, remove_label, write_label
from takeback.store.sink import PackSink
from takeback.timeline.operations import hint_for, is_state_name, state_after, state_named
from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from takeback.context import Context, LockedContext
    from takeback.errors import Hint
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.entries import Session
    from takeback.model.ids import SessionId
    from takeback.model.operation import Operation

    Meaning = Callable[[str | None, str], str | None]
    """Returns the session that its name means, or the one meant without, for a place."""

# -- finds the turn, or the step of one, that a person means
#
# ``turn:3`` is turn 3 and, as a place, before it; ``turn:3.end`` is its end. ``turn:3.2`` is its
# second step, as ``show`` lists them (a round of tools, a prompt within the turn), and before it.


_END = "end"
_LIST = ("the checkpoints: ", Command("log"))
_PROMPT = 40


class NamedTurn(Value):
    """A turn or, with ``step``, a part of it: the checkpoints around it, and the one it names."""

    turn: Turn
    before: Checkpoint
    after: Checkpoint
    place: Checkpoint
    step: int | None = None

    @property
    def words(self) -> str:
        """Returns what it is called in a sentence."""
        number = "a command" if self.turn.number is None else f"turn {self.turn.number}"
        said = shown(" ".join((self.turn.prompt or "").split()))
        said = said if len(said) <= _PROMPT else said[: _PROMPT - 1] + "…"
        part = "" if self.step is None else f"step {self.step} of "
        return f"{part}{number}" + (f' "{said}"' if said else "")


def turn_named(ledger: Ledger, text: str, session: str | None) -> NamedTurn:
    """Returns what ``turn:...`` means in a session's line; raises NoSuchCheckpoint."""
    number, dot, part = text.removeprefix(TURN).partition(".")
    if not _is_number(number) or (dot and part != _END and not _is_number(part)):
        raise NoSuchCheckpoint(
            f"{text!r} is no turn; write turn:3, turn:3.end, or turn:3.2 for its second step",
            hint=_LIST,
        )
    if session is None:
        raise NoSuchCheckpoint("no agent has worked here yet, so there are no turns", hint=_LIST)
    found = questions.turn_numbered(ledger, session, int(number[:9]))
    if found is None:
        newest = questions.newest_number(ledger, session)
        raise NoSuchCheckpoint(
            f"session {session} has no turn {number}",
            hint=(f"its turns are 1 to {newest}: ", Command("log")) if newest else _LIST,
        )
    if _is_number(part):
        return _step(ledger, found, int(part[:9]))
    named = whole(ledger, found)
    return named.replace(place=named.after) if part else named


def turn_at(ledger: Ledger, checkpoint: Checkpoint) -> NamedTurn | None:
    """Returns the turn that a checkpoint begins, ends or belongs to; None if it is in none."""
    found = questions.turn_of(ledger, checkpoint)
    return None if found is None else whole(ledger, found)


def turn_of(ledger: Ledger, checkpoint: Checkpoint) -> NamedTurn:
    """Returns the turn that a checkpoint begins, ends or belongs to; raises UsageError."""
    found = turn_at(ledger, checkpoint)
    if found is None:
        raise UsageError(
            f"{checkpoint.id} is in no turn of an agent",
            hint=("the turns: ", Command("log")),
        )
    return found


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def whole(ledger: Ledger, turn: Turn) -> NamedTurn:
    """Returns a turn with the checkpoints around it; as a place it is before it."""
    before, after = (_known(ledger, id) for id in (turn.before, turn.after))
    return NamedTurn(turn, before, after, before)


def _step(ledger: Ledger, turn: Turn, number: int) -> NamedTurn:
    before, count = _known(ledger, turn.before), 0
    for checkpoint in ledger.after(before, until=turn.after):
        if checkpoint.kind == UNDO:
            continue
        count += 1
        if count == number:
            return NamedTurn(turn, before, checkpoint, before, number)
        before = checkpoint
        if checkpoint.id == turn.after:
            break
    raise NoSuchCheckpoint(
        f"turn {turn.number} has no step {number}",
        hint=(f"its steps are 1 to {count}: ", Command("show", f"turn:{turn.number}")),
    )


def _known(ledger: Ledger, id: CheckpointId) -> Checkpoint:
    found = ledger.by_id(id)
    assert found is not None  # the ledger holds what its turns name
    return found


# -- finds the checkpoint that a person means
#
# In this order: exact id, the beginning of one (four characters at least), ``OP.before`` and
# ``OP.after`` (the states around an operation), a turn (timeline/names.py), ``@`` and ``@~N``, a
# time, a label: the only name that a model can choose redirects no other. ``SESSION/CP`` looks in
# only one session; without it, turns and ``@`` are those of the session that is meant.


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_SHORTEST_PREFIX = 4
_LONGEST_LABEL = 100
_DAYS = ("yesterday", "today", "now", "noon", "midnight")
_NEAR = 5
_ANY_TIME = 1e9


def find(
    ledger: Ledger,
    text: str,
    *,
    now: float,
    meant: Meaning = lambda session, place: session,
    log: Callable[[], Sequence[Operation]] = lambda: (),
) -> Checkpoint:
    """Returns the checkpoint named by ``text``; raises NoSuchCheckpoint with near ones.

    ``meant`` returns the session that is meant by a name, or without one, for a place; ``log``
    returns the operation log. Both are called only if that matters.
    """
    whose, wanted = split_name(text)
    session = None if whose is None else meant(whose, wanted)
    if not wanted:
        raise NoSuchCheckpoint("no checkpoint is named: the name is empty", hint=_LIST)
    exact = ledger.by_id(wanted)
    if exact is not None and session in (None, exact.session):
        return exact
    if may_begin_id(wanted):
        begun = [c for c in ledger.by_prefix(wanted) if session in (None, c.session)]
        if begun:
            return _only(text, begun)
    if is_state_name(wanted):
        state = state_named(ledger, log(), wanted)
        if state is not None:
            return state
    if is_turn_name(wanted):
        return turn_named(ledger, wanted, session or meant(None, wanted)).place
    if names_newest(wanted):
        return _from_newest(ledger, wanted, session or meant(None, wanted))
    moment = parse_time(wanted, now)
    if moment is not None:
        found = ledger.at_or_before(moment, session=session)
        if session is None:
            found = _left_by_operation(ledger, text, moment, found, log())
        if found is None:
            raise NoSuchCheckpoint(f"there is no checkpoint at or before {text}", hint=_LIST)
        return found
    labelled = [c for c in ledger.by_label(wanted) if session in (None, c.session)]
    if labelled:
        return _only(text, labelled)
    raise _unknown(ledger, wanted, log)


def _left_by_operation(
    ledger: Ledger,
    text: str,
    moment: float,
    newest: Checkpoint | None,
    log: Sequence[Operation],
) -> Checkpoint | None:
    """Returns the files at a moment: those of the newest checkpoint, or what an operation left.

    turn 6 ends ── rewind to before turn 3 ── (the moment) ── turn 7
                   from here on the files are those before turn 3
    """
    done = [one for one in moves(log) if one.moves_files and one.time <= moment]
    if not done or (newest is not None and newest.sequence > done[-1].sequence):
        return newest
    return state_after(ledger, done[-1], f"that the files were in at {text}")


def session_named(ledger: Ledger, session: str) -> Session | None:
    """Returns the session of exactly that id."""
    return questions.session_by_id(ledger, session)


def line_of(ledger: Ledger, session: str | None) -> list[SessionId]:
    """Returns a session and its ancestors; empty for None."""
    return [] if session is None else questions.line(ledger, session)


def newest_of(ledger: Ledger, session: str) -> Checkpoint | None:
    """Returns the newest checkpoint of a session."""
    found = questions.session_by_id(ledger, session)
    return None if found is None else ledger.by_id(found.newest)


def unused_children(ledger: Ledger, target: Checkpoint) -> list[Checkpoint]:
    """Returns the first checkpoints of children of ``target`` that were not continued."""
    return [
        child
        for child in ledger.children(target.id)
        if (newest := newest_of(ledger, child.session)) is not None and newest.id == child.id
    ]


def _from_newest(ledger: Ledger, text: str, session: str | None) -> Checkpoint:
    back = 0
    if text != NEWEST:
        before, _, number = text.partition("~")
        if before != NEWEST or not (number.isascii() and number.isdigit()):
            raise NoSuchCheckpoint(f"{text!r} is not a checkpoint; write @ or @~3", hint=_LIST)
        back = int(number.lstrip("0")[:12] or "0")  # nobody has more than SQLite can count
    found = ledger.checkpoints(session=session, without=(UNDO,), limit=back + 1)
    if len(found) <= back:
        raise NoSuchCheckpoint(
            f"there are only {len(found)} checkpoints, so {text} is before the first", hint=_LIST
        )
    return found[back]


def may_begin_id(text: str) -> bool:
    """Tells whether a name is looked for among the beginnings of ids."""
    return looks_like_id(text) and len(text) >= _SHORTEST_PREFIX


def _only(text: str, found: list[Checkpoint]) -> Checkpoint:
    if len(found) == 1:
        return found[0]
    ids = ", ".join(checkpoint.id for checkpoint in found[:_NEAR])
    raise NoSuchCheckpoint(f"{text!r} names {len(found)} checkpoints", hint=f"say which: {ids}")


def _unknown(ledger: Ledger, text: str, log: Callable[[], Sequence[Operation]]) -> NoSuchCheckpoint:
    near = _near(ledger, text)
    hint: Hint = f"near it: {', '.join(near)}" if near else _LIST
    if looks_like_id(text) and len(text) < _SHORTEST_PREFIX:
        hint = (f"the beginning of an id needs {_SHORTEST_PREFIX} characters; ", *_LIST)
    if not near and text.lower().removeprefix("turn").strip().isdigit():
        hint = ("a turn is written turn:3 or turn:3.end; ", *_LIST)
    elif not near and (text[0].isdigit() or text.lower() in _DAYS):
        hint = ("a time is written 10m, 2h, 3d, 14:05 or 2026-11-15T14:05; ", *_LIST)
    hint = hint_for(log(), text) or hint
    return NoSuchCheckpoint(f"there is no checkpoint {text!r}", hint=hint)


def _near(ledger: Ledger, text: str) -> list[str]:
    """Returns ids and labels that may have been meant by a typo."""
    from difflib import get_close_matches

    checkpoints = ledger.checkpoints(without=(UNDO,), limit=500)
    words = [c.label for c in checkpoints if c.label] + [c.id for c in checkpoints]
    short = {word[: max(len(text), _SHORTEST_PREFIX)]: word for word in reversed(words)}
    return [short[match] for match in get_close_matches(text, short, n=3, cutoff=0.6)]


def parse_time(text: str, now: float) -> float | None:
    """Returns the moment meant by ``10m``, ``2h``, ``14:05`` or ``2026-11-15T14:05``, else None."""
    if 2 <= len(text) <= 9 and text[-1] in _UNITS and text[:-1].isascii() and text[:-1].isdigit():
        return now - int(text[:-1]) * _UNITS[text[-1]]
    try:
        for form in ("%H:%M", "%H:%M:%S"):
            try:
                hour = datetime.strptime(text, form)  # noqa: DTZ007 (only the time of day is read)
            except ValueError:
                continue
            today = datetime.fromtimestamp(now)  # noqa: DTZ006 (what the clocks here show)
            wall = datetime.combine(today.date(), hour.time())
            moment = _moment(wall, now)
            return moment if moment <= now else _moment(wall - timedelta(days=1), now)
        if "-" not in text or not text[:4].isdigit():
            return None
        date = datetime.fromisoformat(text)
        return date.timestamp() if date.tzinfo else _moment(date, now)
    except (ValueError, OverflowError):  # not a date, or one that no clock here can show
        return None


def _moment(wall: datetime, now: float) -> float:
    """Returns when the clocks here show a time; not after now, if possible.

    When they are put back they show an hour's times twice; put forward, they skip an hour, and all
    its times are that one moment.
    """
    first, second = sorted(wall.replace(fold=fold).timestamp() for fold in (0, 1))
    if datetime.fromtimestamp(second).replace(fold=0) != wall:  # noqa: DTZ006
        while second - first > 1:  # the clocks show less at the first and more at the second
            between = (first + second) // 2
            if datetime.fromtimestamp(between) < wall:  # noqa: DTZ006
                first = between
            else:
                second = between
        return second
    return second if second <= now else first


def check_label(ledger: Ledger, name: str, now: float, *, by_model: bool = False) -> None:
    """Raises UsageError for a label that could be mistaken for another kind of name.

    A person may give one that only might be (``other_meaning``); a model may not.
    """
    why = _why_no_label(ledger, name, now) or (other_meaning(name) if by_model else "")
    if why:
        raise UsageError(f"{name[:_LONGEST_LABEL]!r} cannot be a label: {why}", hint=_LABELS)


_LABELS = "a label is a line of text such as before-the-merge; another name for it is free"


def other_meaning(name: str) -> str:
    """Returns what else a label may be read as, by us or by a person; empty if nothing."""
    from unicodedata import normalize

    plain = normalize("NFKC", name).casefold().strip()
    number = plain.removeprefix("turn").lstrip(" :#-").removesuffix(".end").replace(".", "")
    if may_begin_id(plain):
        return "it looks like the beginning of an id, and ids come first"
    if is_state_name(plain):
        return "it looks like a state around an operation, and those come first"
    if number.isdigit() or plain.startswith((NEWEST, "-", TURN)) or plain == GREEN:
        return "it looks like another way to name one"
    if plain in _DAYS or parse_time(plain, _ANY_TIME) is not None:
        return "it looks like a time"
    return ""


def _why_no_label(ledger: Ledger, name: str, now: float) -> str:
    if not name:
        return "it is empty"
    if len(name) > _LONGEST_LABEL:
        return f"it is longer than {_LONGEST_LABEL} characters"
    if any(character < " " or "\x7f" <= character < "\xa0" for character in name):
        return "it has a line break or another control character"
    if name != name.strip() or "/" in name:
        return "no slash, no blank at the ends"
    if name.startswith((NEWEST, "-", TURN)):
        return "it looks like another way to name one"
    if parse_time(name, now) is not None:
        return "it looks like a time"
    if name == GREEN:
        return "it means the newest checkpoint at which tests passed"
    if len(name) == ID_LENGTH and looks_like_id(name) and ledger.by_id(name) is not None:
        return "it is the id of a checkpoint"
    return ""


# -- label: gives a checkpoint a name, changes it, removes it


def label(
    context: Context,
    ledger: Ledger,
    checkpoint: Checkpoint,
    name: str | None,
    *,
    by: str | None = None,
) -> Checkpoint:
    """Sets or removes (None) the label; returns the checkpoint as it is now.

    ``by`` is the agent whose model gives it; None for a person.
    """
    if name is not None:
        check_label(ledger, name, context.clock.now(), by_model=by is not None)
    with context.locked() as locked:
        if name is not None:
            return put_label(locked, checkpoint, name, by=by)
        remove_label(PackSink(locked.lock), checkpoint, context.clock.now())
    return checkpoint.replace(label=None, label_by=None)


def put_label(
    context: LockedContext, checkpoint: Checkpoint, name: str, *, by: str | None = None
) -> Checkpoint:
    """Gives a checkpoint a name; raises UsageError if another one has it.

    A person is warned of one that may be read as another kind of name.
    """
    check_free(context, name, besides=checkpoint)
    write_label(PackSink(context.lock), checkpoint, Label(name, by), context.clock.now())
    misread = other_meaning(name)
    if misread:
        context.reporter.note(f"The label {shown(name)} may not find it: {misread}.")
    return checkpoint.replace(label=name, label_by=by)


def check_free(context: LockedContext, name: str, *, besides: Checkpoint | None = None) -> None:
    """Raises UsageError if another checkpoint has the label; under the lock it stays free."""
    for other, taken in read_labels(context.store).items():
        if taken.name == name and (besides is None or other != besides.id):
            raise UsageError(
                f"the label {name!r} is on checkpoint {other}",
                hint=("take it off first: ", Command("label", other)),
            )
