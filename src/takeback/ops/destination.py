"""Destination: all that is known of the state that an operation goes to."""

from __future__ import annotations

from takeback.errors import StoreDamaged
from takeback.ops.save import saved_since
from takeback.ops.vouching import Vouching
from takeback.store import trees
from takeback.store.checkpoints import read_coverage
from takeback.store.held import Held

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.snapshot import Entry
    from takeback.ops.context import Context


class Destination:
    """A checkpoint as a rewind needs it: its snapshot, the files saved beside it, its coverage.

    ``family`` are the sessions that went on from it: what their tools saved is from then too.
    """

    def __init__(self, context: Context, target: Checkpoint, family: frozenset[str]) -> None:
        self.target = target
        self.tree = bytes.fromhex(target.snapshot)
        self.held = Held(context.store, self.tree)
        self.saved = _saved(context, target, family)
        self.vouching = self._vouching(context)

    def _vouching(self, context: Context) -> Vouching:
        """Returns what the target vouches for; if its coverage is damaged, that is nothing."""
        try:
            coverage = read_coverage(context.store, self.target.commit)
        except StoreDamaged:
            return Vouching.of_nothing(self.held, self.saved, self.target)
        return Vouching(coverage, self.held, self.saved, self.target)


def _saved(context: Context, target: Checkpoint, family: frozenset[str]) -> dict[bytes, Entry]:
    before_tools = saved_since(context.store, target, family).inside
    if target.saved is None:
        return before_tools
    try:
        return {**before_tools, **dict(trees.walk(context.store, bytes.fromhex(target.saved)))}
    except StoreDamaged as error:
        context.reporter.note(
            f"The ignored files saved with {target.id} cannot be read: {error.message}."
        )
        return before_tools
