"""What the settings keep out of every capture: ``exclude``, and secrets by ``sensitive``."""

from __future__ import annotations

from takeback.model.coverage import EXCLUDED, SENSITIVE
from takeback.worktree.patterns import Patterns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.model.coverage import Reason
    from takeback.model.policy import Policy


class LeftOut:
    """The user's own word on which paths takeback must not have."""

    def __init__(self, policy: Policy) -> None:
        self._include = Patterns(policy.include)
        self._exclude = Patterns(policy.exclude)
        self._skip_sensitive = policy.skip_sensitive

    def reason(self, path: bytes, *, directory: bool = False) -> Reason | None:
        """Returns why a path is never captured; None if the settings do not speak against it."""
        if self._exclude.match(path):
            return EXCLUDED
        return SENSITIVE if self.is_secret(path, directory=directory) else None

    def is_secret(self, path: bytes, *, directory: bool = False) -> bool:
        """Tells whether no byte of a file may enter the store, not even to be saved for undo.

        What ``include`` names is captured although its name is sensitive.
        """
        if not self._skip_sensitive:
            return False
        from takeback.model import sensitive  # few people set it

        if directory:
            found = sensitive.is_sensitive_directory(path.rpartition(b"/")[2])
        else:
            found = sensitive.is_sensitive(path)
        return found and not self._include.match(path)
