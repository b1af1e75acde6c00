"""Deeds: what a turn did to the files, path by path: the sum of its rounds."""

from __future__ import annotations

from takeback.ledger import by_session as questions
from takeback.ledger import lists as earlier
from takeback.ledger.attribute import finds_its_edits, heard_in_time, named_by
from takeback.ledger.by_session import FoundChange
from takeback.ledger.expired import heirs, position_of
from takeback.model.checkpoint import ADDED, DELETED
from takeback.model.path_text import parents
from takeback.model.value import Value
from takeback.store import trees
from takeback.store.trees import Held, edited

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from takeback.errors import StoreDamaged
    from takeback.ledger.ledger import Ledger
    from takeback.model.checkpoint import Checkpoint, Entry
    from takeback.model.entries import Turn
    from takeback.model.ids import SessionId
    from takeback.store.sink import PackSink
    from takeback.store.store import Store

    Sharers = dict[FoundChange, frozenset[SessionId]]


class Stretch(Value):
    """Some paths that a turn changed: the snapshots before and after.

    ``position`` is that of the checkpoint it ends with. ``alone`` says that nobody else changed
    these paths during the turn. ``shared`` has the paths of which it is not known what of this the
    turn did, and what other sessions: each with those.
    """

    before: bytes
    after: bytes
    paths: frozenset[bytes]
    position: int
    alone: bool = True
    shared: Mapping[bytes, frozenset[SessionId]] = {}

    def turned(self) -> Stretch:
        """Returns the way back."""
        return self.replace(before=self.after, after=self.before)

    def taken_out(self, sink: PackSink, *, besides: Collection[bytes] = ()) -> bytes:
        """Returns the snapshot after it without what it did; ``besides`` are paths that stay."""
        store = sink.locked.store
        own, after = self.paths.difference(besides), Held(store, self.after)
        above = {directory for path in own for directory in parents(path)}
        kept = {
            one.path: after[one.path]
            for one in trees.diff(store, self.before, self.after)
            if one.path not in own and not (one.path in above and one.kind in (ADDED, DELETED))
        }
        for path in [path for path, entry in kept.items() if entry is not None]:
            for directory in parents(path):
                kept.setdefault(directory, after[directory])
        return edited(store, sink, self.before, kept)


def deeds(
    store: Store,
    ledger: Ledger,
    turn: Turn,
    ends: tuple[Checkpoint, Checkpoint],
    *,
    shared: bool = False,
) -> list[Stretch]:
    """Returns what a turn did between two of its checkpoints, which are kept, oldest first.

    With ``shared`` it is looked for what another session did, too, which takes longer.
    """
    before, after = ends
    first, last = (position_of(ledger, one.id) for one in ends)
    own = questions.changes_in(ledger, turn, first)
    if turn.after != after.id:  # else what was found later is still the turn's
        own = [one for one in own if one.position <= last]
    others = questions.others_during(ledger, turn, first, last)
    others |= _by_operations(store, ledger, first, last)
    others |= {one.path for one in own if one.position > last}
    both = _shared(ledger, store.location.root, turn, own, (first, last)) if shared else {}
    others |= {one.path for one in both}
    alone = frozenset(one.path for one in own) - others
    found = [Stretch(before.tree, after.tree, alone, last)] if alone else []
    contested = sorted({*(one for one in own if one.path in others), *both}, key=_at)
    return sorted([*_rounds(store, ledger, contested, both), *found], key=lambda one: one.position)


def _at(change: FoundChange) -> tuple[int, bytes]:
    return change.position, change.path


def _by_operations(store: Store, ledger: Ledger, first: int, last: int) -> set[bytes]:
    """Returns the paths that were changed by what takeback did meanwhile."""
    found: set[bytes] = set()
    for undo, left in questions.operations_during(ledger, first, last):
        before = ledger.by_id(undo)
        if before is not None and before.expired is None:
            there = trees.diff(store, before.tree, bytes.fromhex(left), on_damage=_passed_over)
            found |= {change.path for change in there}
    return found


def _passed_over(path: bytes, error: StoreDamaged) -> None:
    """What cannot be read is reported where it is merged."""


def _rounds(
    store: Store, ledger: Ledger, contested: Sequence[FoundChange], both: Sharers
) -> list[Stretch]:
    """Returns the stretches of paths that others changed, too: rounds that meet are one."""
    held: dict[bytes, Held] = {}

    def at(tree: bytes, path: bytes) -> Entry | None:
        return held.setdefault(tree, Held(store, tree))[path]

    parts: dict[bytes, list[_Part]] = {}
    for change in contested:
        checkpoint = ledger.by_id(change.checkpoint)
        was = None if checkpoint is None else ledger.state_before(checkpoint)
        if checkpoint is None or was is None:  # the first of all has nothing to be compared with
            continue
        part = _Part(bytes.fromhex(was), checkpoint.tree, change.position, both.get(change))
        known = parts.setdefault(change.path, [])
        last = known[-1] if known else None
        if (
            last is not None
            and last.sharers == part.sharers
            and at(last.after, change.path) == at(part.before, change.path)
        ):
            known[-1] = part.replace(before=last.before)
        else:
            known.append(part)
    together: dict[tuple[bytes, bytes, int], dict[bytes, frozenset[SessionId] | None]] = {}
    for path, some in parts.items():
        for one in some:
            together.setdefault((one.before, one.after, one.position), {})[path] = one.sharers
    return [
        Stretch(
            *(before, after, frozenset(paths), position),
            alone=False,
            shared={path: sharers for path, sharers in paths.items() if sharers},
        )
        for (before, after, position), paths in together.items()
    ]


class _Part(Value):
    """A stretch of one path."""

    before: bytes
    after: bytes
    position: int
    sharers: frozenset[SessionId] | None


def _shared(
    ledger: Ledger, root: bytes, turn: Turn, own: Sequence[FoundChange], span: tuple[int, int]
) -> Sharers:
    """Returns what was found at one checkpoint of what two sessions' edit tools have done, each.

        second edits ── first edits ── captured: first's ── captured for second: nothing left

    The other session is the one that names the path, or the one whose capture had it.
    """
    found: dict[FoundChange, set[SessionId]] = {}
    certain = [one for one in own if one.is_told]
    for session in questions.sessions_around(ledger, turn.session, *span):
        for path, since, until in _untold(ledger, root, session, span):
            for one in certain:
                if one.path == path and since < one.position < until:
                    found.setdefault(one, set()).add(session)
    for path, since, until in _untold(ledger, root, turn.session, span):
        for one in questions.told_by_others(ledger, turn.session, path, since, until):
            if one.session is not None:
                found.setdefault(one, set()).add(one.session)
    return {one: frozenset(sessions) for one, sessions in found.items()}


def _untold(
    ledger: Ledger, root: bytes, session: SessionId, span: tuple[int, int]
) -> Iterator[tuple[bytes, int, int]]:
    """Yields the paths that a session's edit tools changed, but which others may have captured.

    Each with the positions between which that was: what has expired is found at what has not.
    """
    for checkpoint in earlier.heard(ledger, session, *span):
        named = named_by(checkpoint, root)
        if not named:
            continue
        last = earlier.previous(ledger, checkpoint)
        since = None if last is None else heard_in_time(ledger, last)
        here = {one.path for one in ledger.changes(checkpoint.id)}
        until = position_of(ledger, checkpoint.id)
        if checkpoint.expired is not None:
            until = max(heirs(ledger, [until]), default=until) + 1
        for path in named:
            if not finds_its_edits(checkpoint, root, path, here):
                begun = -1 if since is None else position_of(ledger, since)
                yield path, begun, until
