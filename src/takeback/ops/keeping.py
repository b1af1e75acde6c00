"""Keeping: a rewind that leaves in place what others did since its target.

edits        the target, with each stretch of a person's edits since merged into it
all others   the files as they are, without the turns of the target's session since
"""

from __future__ import annotations

from takeback.model.ids import SnapshotId
from takeback.model.keeping import ALL_OTHERS, EDITS
from takeback.model.merge import Chooser
from takeback.model.path_text import covers
from takeback.ops import edits as by_hand
from takeback.ops.line_merge import Sides
from takeback.ops.merge import merge
from takeback.ops.revert import only_who_is_at_work, without
from takeback.store import trees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from takeback.model.merge import Conflict, ConflictChoices
    from takeback.ops.capture import Captured
    from takeback.ops.edits import Edit
    from takeback.ops.request import Request
    from takeback.ops.revert import Taken

_EDITS = "your edits"
_WITH_EDITS = "with your edits since"
_OWN_ONLY = "only what its session changed"


def keep_edits(
    captured: Captured, request: Request, edits: Sequence[Edit], choices: ConflictChoices
) -> Request:
    """Returns a request for a checkpoint as one for the same with a person's edits in it."""
    sink, chooser, facts = captured.sink, Chooser(choices, edits=True), request.facts
    latest = _since_last_look(captured, request)
    tree = bytes.fromhex(request.goal.tree)
    names = (request.goal.about or request.goal.name, _EDITS)
    for edit in (*edits, *latest):
        theirs = edit.alone(sink)
        sink.publish()
        tree = merge(sink, Sides(edit.before, tree, theirs, names), chooser).tree
        sink.publish()
    kept = frozenset[bytes]().union(*(edit.paths for edit in (*edits, *latest)))
    goal = request.goal.merged(SnapshotId(tree.hex()), _WITH_EDITS)
    return request.replace(
        goal=goal,
        facts=facts.replace(own=facts.own - kept, last_seen=None),
        conflicts=_within(request, chooser),
        keeping=EDITS,
        edits=tuple(sorted(path for path in kept if covers(request.scope.paths, path))),
    )


def _since_last_look(captured: Captured, request: Request) -> list[Edit]:
    """Returns the edits that no checkpoint has yet; while an agent works, they may be its own."""
    facts = request.facts
    if facts.at_work or facts.last_seen is None:
        return []
    seen, store = bytes.fromhex(facts.last_seen), captured.sink.locked.store
    paths = frozenset(change.path for change in trees.diff(store, seen, captured.tree))
    return by_hand.until(facts.last_seen, captured.tree, paths)


def keep_all_others(
    captured: Captured, request: Request, taken: Sequence[Taken], choices: ConflictChoices
) -> Request:
    """Returns a request for a checkpoint as one that takes back only what some turns did."""
    chooser = Chooser(choices)
    tree = without(captured, taken, chooser)
    goal = request.goal.merged(SnapshotId(tree.hex()), _OWN_ONLY)
    facts = only_who_is_at_work(request.facts)
    return request.replace(
        goal=goal,
        facts=facts.replace(current=request.facts.current),
        conflicts=_within(request, chooser),
        keeping=ALL_OTHERS,
    )


def _within(request: Request, chooser: Chooser) -> tuple[Conflict, ...]:
    paths = request.scope.paths
    return tuple(one for one in chooser.unsettled if covers(paths, one.path))
