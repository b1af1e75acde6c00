"""The JSON documents of the present state: the store, the files, the agents."""

from __future__ import annotations

from takeback.model.path_text import to_bytes
from takeback.words import earlier
from takeback.words.documents import file_fields, path_fields, path_list, planned, session
from takeback.words.errors import command_line
from takeback.words.text import timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from takeback.app.connect import AgentState
    from takeback.model.timeline import Earlier
    from takeback.timeline.look import Status
    from takeback.timeline.sessions import Dirty, Standing

    Document = dict[str, Any]


def status(found: Status) -> Document:
    return {
        "checkpoints": found.checkpoints,
        "snapshots": found.snapshots,
        "expired": found.expired,
        "sessions": found.sessions,
        "bytes": found.bytes,
        "growth": found.growth,
        **(path_fields(to_bytes(found.store), "store") if found.store else {"store": None}),
        **path_fields(found.root, "workspace"),
        "not_a_workspace": None if found.never is None else found.never.message,
        "budget": found.budget,
        "heaviest": [
            {**file_fields(one.path), "versions": one.versions, "bytes": one.bytes}
            for one in found.heaviest
        ],
        "warnings": [
            {"about": one.about, "message": one.message, "hint": command_line(one.hint)}
            for one in found.warnings
        ],
        "over_budget": found.over_budget,
        "floor": found.floor if found.is_at_floor else None,
        "newest": found.newest.id if found.newest is not None else None,
        "can_undo": found.can_undo,
        "can_redo": found.can_redo,
        "interrupted": found.interrupted,
        "failures": [failure.line for failure in found.failures],
        "waiting": found.waiting,
        "running": [
            {
                "session": turn.session,
                "agent": turn.agent,
                "prompt": turn.prompt,
                "background": turn.background,
                "commands": list(turn.commands),
            }
            for turn in found.running
        ],
        "disagree": [session(entry) for entry in found.disagree],
        "snapshot_bytes": found.snapshot_bytes,
        "here": None if found.standing is None else here(found.standing),
        "dirty": dirty(found.dirty),
        "sensitive": path_list(found.sensitive.held),
        "sensitive_left_out": path_list(found.sensitive.left_out),
        "recording": found.recording_off_by is None,
        "recording_off_by": found.recording_off_by,
    }


def whole(found: Status, agents: Sequence[AgentState], before: Sequence[Earlier]) -> Document:
    """Returns all that ``status`` tells: of the store, the agents, and what was here before."""
    return {
        **status(found),
        "earlier": [earlier.document(one) for one in before],
        "agents": [agent(one) for one in agents],
    }


def here(standing: Standing) -> Document:
    """Returns the place that the files are at."""
    checkpoint = standing.checkpoint
    return {
        "id": checkpoint.id,
        "place": standing.place,
        "session": checkpoint.session,
        "turn": None if standing.turn is None else standing.turn.number,
        "time": timestamp(checkpoint.time),
        "label": checkpoint.label,
        "label_by": checkpoint.label_by,
    }


def dirty(found: Dirty | None) -> list[Document] | None:
    """Returns what changed by hand; None if that was not, or could not be, checked."""
    return None if found is None or found.unknown is not None else planned(found.changes)


def agent(state: AgentState) -> Document:
    """Returns whether an agent is connected, and since when it has worked without us."""
    last, missed = state.last_event, state.missed_since
    return {
        "agent": state.agent,
        "connected": state.connected,
        "last_event": timestamp(last) if last else None,
        "missed_since": timestamp(missed) if missed else None,
        "hindrance": state.hindrance,
    }
