"""Short ids: the beginning of a session's own id that tells it from the others of its agent."""

from __future__ import annotations

from takeback.visible import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from takeback.model.timeline import Session

_SHORT_ID = 4


def short_ids(sessions: Iterable[Session]) -> dict[str, str]:
    """Returns the beginning of each session's own id, unique among those of its agent.

    If a child's id extends its parent's, so does the short one: ``s1.92af9a91`` of the parent
    ``s1`` is ``s1.92af``.
    """
    everyone = list(sessions)
    ids: dict[str | None, list[str]] = {}
    for session in everyone:
        ids.setdefault(session.agent, []).append(session.native or session.id)
    short = {agent: _shortened(sorted(set(own))) for agent, own in ids.items()}
    return {s.id: shown(short[s.agent][s.native or s.id]) for s in everyone}


def _shortened(ids: Sequence[str]) -> dict[str, str]:
    """Returns the short form of sorted ids: each is compared with its neighbours."""
    above: list[str] = []
    siblings: dict[str, list[str]] = {}
    for id in ids:
        while above and not id.startswith(above[-1]):
            above.pop()
        siblings.setdefault(above[-1] if above else "", []).append(id)
        above.append(id)
    short: dict[str, str] = {"": ""}
    for parent, children in sorted(siblings.items()):
        head = parent if len(parent) <= 2 * _SHORT_ID else short[parent]
        least = _SHORT_ID + 1 if parent else _SHORT_ID  # a child's begins with a dot
        for before, id, after in zip(["", *children], children, [*children[1:], ""], strict=False):
            common = max(_common(id, one) for one in (before, after))
            length = max(least, common + 1 - len(parent))
            short[id] = head + id[len(parent) :][:length]
    return short


def _common(one: str, other: str) -> int:
    """Returns the length of the common prefix of two texts."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
