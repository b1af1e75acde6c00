"""Request: one rewind, fork, undo or redo that is asked for, from its plan to its end."""

from __future__ import annotations

from takeback.model.goal import Goal
from takeback.model.keeping import NOTHING
from takeback.model.operation import BOTH, CONVERSATION, FILES, REWIND
from takeback.model.policy import NO_OVERRIDES, Overrides
from takeback.model.value import Value
from takeback.ops.facts import NO_FACTS, Facts
from takeback.ops.scope import Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.keeping import Kept
    from takeback.model.merge import Conflict
    from takeback.model.operation import Move, OperationKind, ScopeKind
    from takeback.ops.child import Cut


class Request(Value):
    """Where it goes, what is wanted of that, what is waived, what is known about the time since.

    ``of`` is the operation that an undo or redo is about, ``cut`` what happens to the conversation
    (None: it stays). ``conflicts`` are those that nobody has chosen about, in the goal of a merge;
    ``keeping`` is what was merged into it, ``edits`` the paths of a person's edits among that.
    ``mentioned`` are paths that a merge has looked at, though neither side of it may hold them now.
    """

    goal: Goal
    scope: Scope = Scope()
    overrides: Overrides = NO_OVERRIDES
    facts: Facts = NO_FACTS
    kind: OperationKind = REWIND
    of: Move | None = None
    cut: Cut | None = None
    conflicts: tuple[Conflict, ...] = ()
    keeping: Kept = NOTHING
    edits: tuple[bytes, ...] = ()
    mentioned: frozenset[bytes] = frozenset()

    @property
    def moves(self) -> ScopeKind:
        """Returns what it moves: files, conversation or both."""
        if self.of is not None:
            return self.of.scope
        if self.cut is None:
            return FILES
        return BOTH if self.scope.files else CONVERSATION

    @property
    def wanted(self) -> Scope:
        """Returns the scope with the ignored files that a turn changed, unless paths are named."""
        if self.scope.paths:
            return self.scope
        return self.scope.replace(also=self.scope.also | frozenset(self.facts.ignored))

    @property
    def kept(self) -> dict[bytes, str]:
        """Returns the paths that are left alone because others changed them, and why."""
        if not self.overrides.keep_others:
            return {}
        return {
            path: f"changed by another session ({session}) and kept"
            for path, session in self.facts.others.items()
        }
