"""Agents of other packages, found by their entry points.

    [project.entry-points."takeback.agents"]
    NAME = "package.module:agent"            an ``Agent`` of that very name

A package that does not load, uses a name that is taken, or lies in a workspace, where an agent
could change what hooks run, is not accepted; ``status`` and ``doctor`` report it. What one raises
later is contained: it is a failure of that agent and of nothing else.
"""

from __future__ import annotations

import os
import sys

from takeback import adapters
from takeback.model.agent import Agent
from takeback.model.value import Value
from takeback.ordinary import ordinary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from takeback.ports import Adapter, Connection, MessageReader, Summaries

GROUP = "takeback.agents"
_MENTIONED = f"[{GROUP}]".encode()
_INSTALLED = (".dist-info", ".egg-info")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")


class ForeignAgents(Value):
    """What other packages provide: agents by name, and for broken ones the reason."""

    agents: dict[str, Agent]
    broken: dict[str, str]


_found: dict[tuple[str, ...], ForeignAgents] = {}
"""Searched for once per process, and again if its module path has changed."""


def found() -> ForeignAgents:
    """Returns what was found; never raises, whatever a package does."""
    if sys.flags.no_site and "site" not in sys.modules:
        import site  # the launcher starts Python without it, and only these agents need it

        site.main()
    where = tuple(sys.path)
    if where not in _found:
        _found[where] = _look() if _is_any_mentioned() else ForeignAgents({}, {})
    return _found[where]


def _is_any_mentioned() -> bool:
    """Tells whether any package may have such an entry point: in 1 ms, where searching takes 30."""
    for folder in _places():
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            if name.endswith(_INSTALLED) and _mentions(os.path.join(folder, name)):
                return True
    return False


def _places() -> list[str]:
    """Returns where packages may be: not the current directory, which is the project's."""
    here = os.path.realpath(".")
    return [folder for folder in sys.path if folder and os.path.realpath(folder) != here]


def _mentions(folder: str) -> bool:
    try:
        with open(os.path.join(folder, "entry_points.txt"), "rb", opener=ordinary) as file:
            return _MENTIONED in file.read()
    except OSError:
        return False


def _look() -> ForeignAgents:
    from importlib.metadata import distributions

    agents: dict[str, Agent] = {}
    broken: dict[str, str] = {}
    points = [point for one in distributions(path=_places()) for point in one.entry_points]
    for point in (point for point in points if point.group == GROUP):
        name = point.name
        reason = _why_not(point, agents)
        if reason is None:
            try:
                agent = point.load()
            except Exception as error:  # noqa: BLE001 - somebody else's code may raise anything
                reason = f"it does not load: {type(error).__name__}: {error}"
            else:
                reason = _why_no_agent(agent, name)
        if reason is None:
            agents[name] = agent
        else:
            broken.setdefault(name, f"the agent {name} of the package {_package(point)}: {reason}")
    return ForeignAgents(agents, {name: why for name, why in broken.items() if name not in agents})


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value.partition(":")[0]


def _why_not(point: EntryPoint, others: dict[str, Agent]) -> str | None:
    """Returns why an entry point is not even loaded."""
    if not point.name or not _LETTERS.issuperset(point.name):
        return "its name may have small letters, digits, - and _"
    if point.name in (adapters.PLUGIN, *(agent.name for agent in adapters.BUILT_IN), *others):
        return "there is one of that name already"
    inside = _workspace_around(point.value.partition(":")[0].partition(".")[0])
    if inside is not None:
        return f"it is installed in the project {inside}, where an agent could change it"
    return None


def _why_no_agent(agent: object, name: str) -> str | None:
    if not isinstance(agent, Agent):
        return "its entry point is no takeback.agents.Agent"
    if agent.name != name:
        return f"its entry point is called {name}, and it calls itself {agent.name}"
    return None


def _workspace_around(package: str) -> str | None:
    """Returns the workspace that a package lies in; None if it lies in none, or is missing.

    The one that this process works in counts before it has a store.
    """
    from importlib.util import find_spec

    from takeback.errors import NotAWorkspace, TakebackError
    from takeback.paths import takeback_home, user_home
    from takeback.store.location import is_known, workspace_around
    from takeback.worktree.workspace import find_root

    try:
        spec = find_spec(package)
        home = takeback_home(os.environ)
    except (ImportError, ValueError, TakebackError):
        return None  # loading says why it is missing; without a home there is no workspace
    if spec is None:
        return None
    try:
        here = find_root(
            os.getcwdb(), has_store=lambda path: is_known(home, path), home=user_home(os.environ)
        )
    except (NotAWorkspace, OSError):
        here = b""
    places = [spec.origin or "", *(spec.submodule_search_locations or ())]
    return workspace_around(home, [place for place in places if place], here)


def contained_adapter(agent: Agent) -> Adapter:
    """Returns the adapter of another package's agent; one that does not load does nothing."""
    from takeback.adapters.contained import ContainedAdapter

    return ContainedAdapter(agent.name, lambda: adapters.loaded(agent.adapter))


def contained_connection(agent: Agent) -> Connection:
    """Returns the connection of another package's agent."""
    from takeback.adapters.contained import ContainedConnection

    return ContainedConnection(agent.name, lambda: adapters.loaded(agent.connection))


def contained_reader(agent: Agent) -> MessageReader:
    """Returns what reads the conversations of another package's agent."""
    from takeback.adapters.contained import ContainedReader

    return ContainedReader(agent.name, lambda: adapters.loaded(agent.messages))


def contained_summaries(agent: Agent) -> Summaries:
    """Returns what puts summaries into the conversations of another package's agent."""
    from takeback.adapters.contained import ContainedSummaries

    return ContainedSummaries(agent.name, lambda: adapters.loaded(agent.summaries))
