"""Which checkpoint belongs to an entry of pi's tree.

    user               the files when that prompt was sent
    assistant          the files after that answer and the tools that it called
    compaction         the files when it was made
    branch summary     the files when pi moved to that branch
    anything else      none of its own; that of the nearest entry on the way to the root

Many checkpoints may have been made while pi was at one entry: at the end of a turn, at the next
prompt, after coming back to it by /tree with the files of another branch. So a leaf alone is not
enough; the kind of checkpoint and, for a prompt, the time decide.
"""

from __future__ import annotations

from datetime import datetime

from takeback.adapters import fields
from takeback.adapters.pi import leaf_before, tool_kind
from takeback.model.agent import EntryMatch
from takeback.model.event import READ
from takeback.model.turn import BRANCH, COMPACTION, PROMPT, ROUND, STEER, TURN_END

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from takeback.model.checkpoint import Checkpoint

    Node = Mapping[str, Any]

_SLACK = 0.01
"""Seconds by which the clocks of pi and takeback may differ."""


def match_entry(path: Sequence[Node], checkpoints: Sequence[Checkpoint]) -> EntryMatch:
    """Finds the checkpoint at the first node of a path; see ``ports.EntryFinder``."""
    known = _Known(checkpoints)
    exact = bool(path) and _is_step(path[0])
    for number, node in enumerate(path):
        if not _is_step(node):
            continue
        found = known.at(path, number)
        if found is not None:
            return EntryMatch(found if exact else None, found)
        exact = exact and known.changed_nothing(node)
    return EntryMatch(None, None)


def _is_step(node: Node) -> bool:
    speaker = node.get("role") in ("user", "assistant")
    return speaker or node.get("type") in ("compaction", "branch_summary")


class _Known:
    """Checkpoints by their leaf; one that was recorded late does not have the right files."""

    def __init__(self, checkpoints: Sequence[Checkpoint]) -> None:
        timely = [c for c in checkpoints if not c.late]
        self._prompts = [c for c in timely if c.kind == PROMPT]
        self._steers = [c for c in timely if c.kind == STEER]
        self._ends: dict[str | None, Checkpoint] = {}
        self._made: dict[tuple[str, str | None], Checkpoint] = {}
        for checkpoint in timely:
            if checkpoint.kind in (ROUND, TURN_END):
                for id in (checkpoint.entry, checkpoint.leaf):
                    self._ends.setdefault(id, checkpoint)
            # the first one counts: coming back to it later makes others
            self._made[checkpoint.kind, checkpoint.leaf] = checkpoint

    def at(self, path: Sequence[Node], number: int) -> Checkpoint | None:
        """Returns the checkpoint that was made at a node."""
        node = path[number]
        id = fields.text(node, "id")
        if node.get("type") == "compaction":
            return self._made.get((COMPACTION, id))
        if node.get("type") == "branch_summary":
            return self._made.get((BRANCH, id))
        if node.get("role") == "assistant":
            return self._ends.get(id)
        return self._sent(node, path[number + 1 :])

    def _sent(self, node: Node, before: Sequence[Node]) -> Checkpoint | None:
        """Returns the checkpoint made when a prompt was sent, the last if there are several."""
        written = _time(node) + _SLACK
        leaf = leaf_before(before)
        own = (c for c in self._prompts if c.leaf == leaf and c.time <= written)
        return next(own, None)

    def changed_nothing(self, node: Node) -> bool:
        """Tells whether a step without a checkpoint shares that of the step before it.

        A round that only read makes none if nothing had changed. A prompt typed into a running turn
        is taken in at the end of a round.
        """
        if node.get("role") == "assistant":
            return all(tool_kind(name) == READ for name in fields.texts(node, "tools"))
        said, written = (fields.text(node, "text") or "").strip(), _time(node) + _SLACK
        return bool(said) and any(
            c.time <= written and said.startswith((c.prompt or "\0").strip()[: len(said)])
            for c in self._steers
        )


def _time(node: Node) -> float:
    try:
        return datetime.fromisoformat(str(node.get("time"))).timestamp()
    except ValueError:
        return float("inf")
