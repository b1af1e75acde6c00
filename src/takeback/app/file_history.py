"""File history: what became of single files, and who wrote their lines."""

from __future__ import annotations

from takeback import rooms
from takeback.app.border import guarded
from takeback.app.reading import Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from takeback.app.workspace import CheckpointLike
    from takeback.blame import Blame
    from takeback.timeline.timeline import Shown


@guarded
class FileHistory(Reading):
    """What is known about some files rather than about all of them."""

    def blame(self, path: str | bytes, checkpoint: CheckpointLike | None = None) -> Blame:
        """Returns who wrote each line of a file, as it is now or at a checkpoint."""
        inside = self.path(path)
        self.refuse_hidden(inside)
        found = None if checkpoint is None else self.find_kept(checkpoint)
        tree = rooms.look.present_tree(self._context) if found is None else found.tree
        state = rooms.blame.State(tree, found)
        store = self._context.store
        return self._ask(lambda ledger: rooms.blame.blame(store, ledger, state, inside))

    def show_files(
        self, checkpoint: CheckpointLike, paths: Iterable[str | bytes], *, color: bool = False
    ) -> tuple[Shown, bytes]:
        """Returns a checkpoint with the changes of some paths only, and these as a diff.

        Of a turn, that is what it did; else what was found changed. Raises UsageError for a path
        that is nowhere.
        """
        shown, between = self.show(checkpoint), self.states(checkpoint)
        old, new = bytes.fromhex(between.old), bytes.fromhex(between.new)
        named = self._known_paths(paths, old, new)
        steps = tuple(step.limited_to(named) for step in shown.steps)
        limited = shown.replace(entry=shown.entry.limited_to(named), steps=steps)
        return limited, self._patch(between, named, color=color)
