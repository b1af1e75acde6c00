"""Carry: brings a turn's change from one branch of the tree to another, also to another directory.

What is missing there of the two snapshots around the turn is copied from store to store. Equal
files have equal ids, so between a workspace and its fork that is little.
"""

from __future__ import annotations

from takeback.git.objects import BLOB, TREE, encode_tree, is_tree
from takeback.model.operation import APPLY
from takeback.model.value import Value
from takeback.ops.facts import Facts
from takeback.ops.failures import Translated
from takeback.ops.revert import Taken, Without
from takeback.ops.revert import request as merged
from takeback.store.sink import PackSink

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.ids import SessionId
    from takeback.model.merge import ConflictChoices
    from takeback.ops.capture import Captured
    from takeback.ops.context import LockedContext
    from takeback.ops.request import Request
    from takeback.ops.scope import Scope
    from takeback.store.store import Store


class CarriedTurn(Value):
    """A turn that is to be brought in, and the store that has it; ``owner`` is its session."""

    source: Store
    taken: Taken
    owner: SessionId


class Arrival(Value):
    """Where it is brought to: the paths that are wanted, and what is known there."""

    scope: Scope
    facts: Facts


def request(
    captured: Captured, brought: CarriedTurn, place: Arrival, choices: ConflictChoices
) -> Request:
    """Returns the request to bring a turn into the files; the capture must be kept."""
    sink = captured.sink
    if sink.locked.store is not brought.source:
        deeds = brought.taken.deeds
        for root in dict.fromkeys(tree for one in deeds for tree in (one.before, one.after)):
            copy(sink, brought.source, root)
        sink.publish()
    wanted = Without(
        taken=(brought.taken.replace(brought=True),),
        scope=place.scope,
        about=brought.taken.name,
        owner=brought.owner,
        kind=APPLY,
    )
    return merged(captured, wanted, choices, place.facts)


def copy(sink: PackSink, source: Store, root: bytes) -> None:
    """Copies what a snapshot consists of into another store, as far as it is missing there.

    Raises StoreDamaged if it cannot be read.
    """
    waiting = [root]
    while waiting:
        tree = waiting.pop()
        if sink.has(tree):
            continue
        entries = source.tree(tree)
        for mode, _, oid in entries:
            if is_tree(mode):
                waiting.append(oid)
            elif not sink.has(oid):
                sink.add(BLOB, source.blob(oid))
        sink.add(TREE, encode_tree(entries))


def take_over(context: LockedContext, source: Store, root: bytes) -> None:
    """Copies a snapshot of another workspace into the store, to be looked at."""
    sink = PackSink(context.lock)
    with Translated("the comparison", undo=sink.discard):
        copy(sink, source, root)
        sink.publish()
