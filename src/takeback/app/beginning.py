"""A directory before its first checkpoint: what can be said about it, and what is in the way."""

from __future__ import annotations

import os

from takeback import config
from takeback.app.connect import AgentState, agent_states
from takeback.app.reading import unrecorded_by
from takeback.app.silence import findings
from takeback.app.workspace import location_of
from takeback.check.settings import damaged
from takeback.errors import Command
from takeback.model.value import Value
from takeback.paths import recorded_git, takeback_home
from takeback.timeline.look import nothing_yet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from takeback.check.finding import Finding
    from takeback.errors import NotAWorkspace
    from takeback.model.timeline import Earlier
    from takeback.timeline.look import Status


class Unopened(Value):
    """A directory that has no store. Nothing here creates one.

    ``never`` is why it cannot be a workspace; None if it only has no checkpoint yet.
    """

    root: bytes
    store: str
    environ: Mapping[str, str]
    never: NotAWorkspace | None = None

    @classmethod
    def at(
        cls,
        path: str | os.PathLike[str],
        environ: Mapping[str, str],
        never: NotAWorkspace | None = None,
    ) -> Self:
        """Returns the directory that ``path`` is in; raises NotAWorkspace if it cannot be one.

        With ``never`` that is known already, and it is asked what can be said all the same.
        """
        if never is not None:
            return cls(os.path.realpath(os.fsencode(path)), "", environ, never)
        location = location_of(path, environ)
        return cls(location.root, location.directory, environ)

    def earlier(self) -> tuple[Earlier, ...]:
        """Returns what was kept for its path before the directory that is there now."""
        from takeback.retention.earlier import earlier

        if self.never is not None:
            return ()
        return earlier(location_of(os.fsdecode(self.root), self.environ), self.environ)

    def status(self) -> Status:
        """Returns a status that says that nothing is kept, and what went wrong."""
        settings = config.for_all(self.environ)
        found = nothing_yet(
            self.root,
            self.store,
            home=takeback_home(self.environ),
            budget=settings.policy().max_bytes,
            recording_off_by=unrecorded_by(self.root, self.environ),
        )
        silence = [one for state in self.agents() for one in findings(state)]
        wrong = damaged(settings, self.environ)
        return found.replace(warnings=(*wrong, *silence), never=self.never)

    def agents(self) -> list[AgentState]:
        """Returns the agents of this machine, and which of them worked here without us."""
        found = agent_states(self.environ, os.fsdecode(self.root), {})
        if self.never is None:
            return found
        return [state.replace(missed_since=None) for state in found]  # nothing is to be kept

    def _find_git(self) -> str:
        from takeback.git.process import find_git
        from takeback.store.location import is_known

        home = takeback_home(self.environ)
        return find_git(
            self.environ,
            recorded=recorded_git(home),
            is_workspace=lambda path: (
                os.fsencode(path) == self.root or is_known(home, os.fsencode(path))
            ),
        )

    def doctor(self, *, fix: bool = False) -> list[Finding]:
        """Reports what prevents the first checkpoint."""
        from takeback.app.checkup import check_agents, check_recording
        from takeback.check.doctor import check_git, check_round_trip
        from takeback.check.finding import OFFER, Finding
        from takeback.check.settings import check
        from takeback.gate.asker import refuse_inside

        if fix:
            refuse_inside("doctor --fix", self.environ)
        if self.never is not None:
            none = Finding("workspace", OFFER, self.never.message, self.never.advice)
        else:
            none = Finding(
                "checkpoints",
                OFFER,
                f"there are none yet of {os.fsdecode(self.root)}",
                ("make the first one: ", Command("checkpoint")),
            )
        return [
            check_git(self._find_git),
            none,
            check_round_trip(self.environ, self._find_git),
            *check(config.for_all(self.environ), self.environ),
            *check_recording(unrecorded_by(self.root, self.environ)),
            *check_agents(self.environ, self.agents(), fix=fix),
        ]
