"""What docs/agents says was tried, was tried with the versions that takeback names."""

from __future__ import annotations

import json

from scripts.real_agents import AGENTS
from scripts.tried import COLUMNS, RECORD
from tests.agents.installed import PACKAGES


def test_the_record_is_of_every_agent_at_the_version_that_is_pinned() -> None:
    rows = json.loads(RECORD.read_text())
    assert set(rows) == set(AGENTS)
    for agent, row in rows.items():
        assert row.pop("version") == PACKAGES[agent].version, f"{agent}: run make agents"
        assert list(row) == list(COLUMNS), f"{agent}: run make agents"
