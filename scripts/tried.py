"""What was tried with the real agents, and held: cog makes docs/agents/README.md of it.

``make agents`` writes the record (``real_agents.py``), from what the tests note.
"""

from __future__ import annotations

import json
from pathlib import Path

from takeback.adapters import BUILT_IN, connection_of
from takeback.app.connect import connection_named

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "docs" / "agents" / "tried.json"

SHELL = "shell"
FILES = "files"
CONVERSATION = "conversation"
TRANSCRIPT = "transcript"
OLD_SESSION = "old session"
UNDO = "undo"
UNINSTALL = "uninstall"
ELSEWHERE = "elsewhere"
SUMMARY = "summary"

COLUMNS = {
    SHELL: "what its shell changed and deleted is in the turn, as the shell's doing",
    FILES: "a rewind brings back every file: bytes, modes, links, and none too many",
    CONVERSATION: "the printed line goes on, and the model is sent the history up to there",
    TRANSCRIPT: "the old conversation is byte for byte what it was",
    OLD_SESSION: "the old session goes on with all of its history",
    UNDO: "an undo brings back every file as it was before the rewind",
    UNINSTALL: "its settings, and the project's `.git`, are what they were; every checkpoint stays",
    ELSEWHERE: "the line of `fork --worktree DIR`, pasted into a shell, goes on in DIR, unasked",
    SUMMARY: "the model is sent a summary for the turns, nothing else of them, and all the rest; "
    "whoever made it could use no tool",
}
"""Each column, and what it says where it holds."""


def table() -> str:
    """Returns what held of each agent, as the table of docs/agents/README.md."""
    record = json.loads(RECORD.read_text())
    rows = [f"| agent | version | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 2) + "|"]
    for agent in BUILT_IN:
        if not agent.connection:
            continue
        row, title = record[agent.name], connection_of(agent).title
        held = ("yes" if row[column] else "**no**" for column in COLUMNS)
        rows.append(f"| [{title}]({agent.name}.md) | {row['version']} | {' | '.join(held)} |")
    return "\n".join(rows)


def tested(agent: str) -> str:
    """Returns the sentence with which an agent's page begins."""
    version = connection_named(agent).capabilities.tested
    return (
        f"Tested with {version}: the real program against a scripted model, headless and at a "
        "terminal ([what was tried](README.md))."
    )


def meanings() -> str:
    """Returns what each column of the table says."""
    return "\n".join(f"* **{name}**: {about}." for name, about in COLUMNS.items())
