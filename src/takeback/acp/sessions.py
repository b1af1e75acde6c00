"""Sessions of an agent behind an editor: what is known of each, and who records it.

An agent that ``takeback init`` has connected tells everything by its own hooks, with its
conversation: then the proxy records nothing. Whether they do is seen after the first turn.
"""

from __future__ import annotations

from takeback.adapters import PROXIED, fields
from takeback.app.connect import connected_agent
from takeback.model.value import Value
from takeback.remembered import Remembered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Document = dict[str, Any]

_TOOLS_KEPT = 1_000


class ProxiedAgent(Value):
    """The program behind the proxy, and its process."""

    program: str
    process: int = 0

    @property
    def name(self) -> str:
        """What its sessions are recorded under, where nobody but the proxy does it."""
        return f"{PROXIED}{self.program}"


class EditorSession:
    """One session: the agent's own id, its directory, and what it is doing.

    ``recorded_by`` is the agent that its turns are recorded as; ``is_settled`` says that who
    records it is known by now. While that is asked about, its next prompt waits: ``then``.
    """

    def __init__(
        self, native: str, directory: str, agent: ProxiedAgent, environ: Mapping[str, str]
    ) -> None:
        self.native = native
        self.directory = directory
        self.is_settled = False
        self.is_asked_about = False
        self.then: Callable[[], None] = nothing
        self._agent = agent
        self._calls: Remembered[str, Document] = Remembered(_TOOLS_KEPT)
        self.recorded_by = connected_agent(agent.program, environ, directory) or agent.name

    @property
    def is_ours(self) -> bool:
        """Whether the proxy records it."""
        return self.recorded_by == self._agent.name

    def settle(self, agents: list[str]) -> bool:
        """Leaves the recording to whoever was seen to record this session besides the proxy.

        Returns False if somebody should have and did not: then the proxy does from now on.
        """
        expected = not self.is_ours
        others = [agent for agent in agents if agent != self._agent.name]
        self.recorded_by = others[0] if others else self._agent.name
        self.is_settled = True
        return bool(others) or not expected

    def call(self, update: Mapping[str, Any]) -> Document:
        """Returns all that is known of a call of a tool, with what an update of it says."""
        name = str(update.get("toolCallId"))
        told = {key: value for key, value in update.items() if value is not None}
        known = {**(self._calls.get(name) or {}), **told}
        # Not what it writes: of a thousand calls that may be much.
        kept: Document = {key: known[key] for key in ("kind", "locations") if key in known}
        kept["rawInput"] = {"command": fields.text(fields.table(known, "rawInput"), "command")}
        self._calls.add(name, kept)
        return known

    def event(self, kind: str, **more: Any) -> Document:
        """Returns an event of it as ``takeback hook generic`` takes it."""
        return {
            "event": kind,
            "agent": self.recorded_by,
            "session": self.native,
            "cwd": self.directory,
            "pid": self._agent.process,
            **more,
        }

    def request(self, call: str, **more: Any) -> Document:
        """Returns a request about it, as ``takeback hook generic --stdio`` takes it."""
        about = {"agent": self.recorded_by, "session": self.native, "cwd": self.directory}
        return {"call": call, **about, **more}


def nothing() -> None:
    """Does nothing."""
