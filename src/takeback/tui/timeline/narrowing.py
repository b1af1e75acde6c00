"""What the list is narrowed to: what was searched for, and one agent, session, label or file."""

from __future__ import annotations

from takeback.model.address import label_words
from takeback.model.value import Value
from takeback.visible import shown
from takeback.words import listing as words
from takeback.words.text import count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from takeback.model.row import TimelineRow
    from takeback.timeline.timeline import Browsed

AGENT, SESSION, LABEL, FILE = "agent", "session", "label", "file"


class Filter(Value):
    """Rows of one kind only. ``title`` says it in words; a file is looked up by its ``value``."""

    kind: str
    value: str
    title: str


class Narrowing(Value):
    """What is searched for, and the rows that match; ``None`` if nothing is searched for."""

    sought: str = ""
    found: frozenset[str] | None = None
    only: Filter | None = None
    with_file: frozenset[str] = frozenset()

    @property
    def words(self) -> list[str]:
        """What the list is narrowed to, for a title."""
        said = [f"search: {shown(self.sought)}"] if self.sought else []
        return said + ([f"only {self.only.title}"] if self.only is not None else [])

    def rows(self, browsed: Browsed) -> Sequence[TimelineRow]:
        """Returns the rows that are left."""
        rows: Sequence[TimelineRow] = browsed.rows
        if self.found is not None:
            rows = [row for row in rows if row.id in (self.found or ())]
        return rows if self.only is None else self._kept(browsed, rows, self.only)

    def _kept(
        self, browsed: Browsed, rows: Sequence[TimelineRow], only: Filter
    ) -> list[TimelineRow]:
        if only.kind == AGENT:
            mine = {s.id for s in browsed.sessions if s.agent == only.value}
            return [row for row in rows if row.session in mine]
        if only.kind == SESSION:
            return [row for row in rows if row.session == only.value]
        if only.kind == LABEL:
            return [row for row in rows if row.label is not None and only.value in ("", row.label)]
        return [row for row in rows if row.id in self.with_file]


def filters(browsed: Browsed) -> list[tuple[Filter, str]]:
    """Returns the filters that leave anything, each with how much that is."""
    names = words.session_names(browsed.sessions)
    agents: dict[str, str] = {s.id: s.agent for s in browsed.sessions if s.agent is not None}
    by_agent: dict[str, int] = {}
    by_session: dict[str, int] = {}
    for row in browsed.rows:
        agent = agents.get(row.session)
        if agent is not None:
            by_session[row.session] = by_session.get(row.session, 0) + 1
            by_agent[agent] = by_agent.get(agent, 0) + 1
    labelled = [row for row in browsed.rows if row.label is not None]
    found = [
        (Filter(AGENT, agent, f"agent {shown(agent)}"), count(rows, "row"))
        for agent, rows in by_agent.items()
    ]
    found += [
        (Filter(SESSION, session, f"session {names[session]}"), count(rows, "row"))
        for session, rows in by_session.items()
        if list(agents.values()).count(agents[session]) > 1  # else its agent says the same
    ]
    if labelled:
        found.append((Filter(LABEL, "", "anything with a label"), count(labelled, "row")))
    found += [
        (Filter(LABEL, row.label, f"label {label_words(row)}"), words.name(row))
        for row in labelled
        if row.label is not None
    ]
    return found
