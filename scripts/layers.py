"""The layers of the house, drawn: the order is that of the import contract in pyproject.toml.

Each has a line that says what it is for; a layer without one cannot be drawn, and CI says so.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]

ABOUT = {
    "standby": "stays in memory and does what hooks hand over, each in a child of its own",
    "holding": "what the standby holds for its children: watches of the files",
    "doorkeeper": "lets in only who may do just what we may",
    "own_code": "whether what runs is still what is installed",
    "cli": "the command line",
    "hook": "what agents call at each event",
    "stdio": "what extensions talk to",
    "tui": "the picker: looks and asks; what it does are the operations of the command line",
    "serve": "the page and the HTTP API, likewise",
    "client": "a running server, for editors and shells in Python",
    "acp": "a proxy between an editor and its agent",
    "mcp": "what a model may ask: it looks, and makes checkpoints",
    "events": "the one way that every event of an agent takes",
    "prompt_command": "a prompt that takeback answers itself",
    "words": "documents and sentences, the same in every face",
    "testing": "what every agent has to fulfil, as tests, for other packages too",
    "app": "Takeback: wires everything, the public Python API",
    "agents": "what a package with an agent of its own imports",
    "gate": "who asks, and who tells: a person, a model, or nobody knows",
    "adapters": "what knows one agent: its events, its transcript, its resume line",
    "rooms": "the rooms that the app has a door to, each imported when it is first used",
    "scratch": "a directory for what is over soon, and a program that ends with all it started",
    "context": "what every operation needs, and how an error of the system becomes one of ours",
    "workspaces": "whose store a directory has, what was kept before, forgetting one",
    "capture": "makes a snapshot; watches a workspace for those who stay",
    "turns": "an agent's events: received, ended, what was said, what runs",
    "ledger": "an index of the refs in SQLite, which follows them, and says who changed what",
    "blame": "who wrote each line of a file, and when paths changed",
    "bisect": "finds the turn that broke a command",
    "check": "is all that was kept there, and what mends it",
    "merge": "what changed between two states, brought into a third: revert, carry, pick, keep",
    "fork": "a conversation cut at a place: a session of its own, a file for its agent, a summary",
    "timeline": "lists, names and looks: checkpoints, sessions, operations, conversations",
    "retention": "what goes so that a store stays within its bounds, and comes back from the trash",
    "purge": "a secret is removed from all that is kept",
    "rewind": "plan, prepare, refuse, carry out, undo, recover",
    "store": "snapshots' bytes",
    "worktree": "the user's files",
    "git": "objects, packs, refs; the only code that starts git, and only on our store",
    "handover": "a hook gives its event to the standby",
    "durable": "the only code that writes: create write rename exchange unlink sync ...",
    "kernel": "system calls that Python lacks: statx, openat2, renameat2, madvise, inotify",
    "config": "settings with their origin",
    "paths": "XDG places",
    "programs": "git and agents, never from a workspace",
    "ports": "what the core asks of its surroundings: Clock, Reporter, Adapter ...",
    "model": "frozen values and pure functions",
    "ownership": "whose a file is",
    "ordinary": "opens a file to read it, and no pipe in its place",
    "errors": "every exception, drawn as a tree",
    "visible": "control characters made visible",
    "remembered": "what was read lately, within a bound",
    "c_modules": "private C parts of Python, each with the public module behind it",
}


def layers() -> list[list[str]]:
    """Returns the layers from the top down, each with the modules that are side by side."""
    return [names for names, _ in _rows()]


def rooms() -> list[str]:
    """Returns the packages and modules between the store and the app, which may use each other."""
    [found] = [names for names, are_rooms in _rows() if are_rooms]
    return found


def picture() -> str:
    """Returns the drawing; modules side by side share a line, each room has its own."""
    lines = []
    for names, are_rooms in _rows():
        for some in [[name] for name in names] if are_rooms else [names]:
            said = " | ".join(ABOUT[name] for name in some)
            lines.append(f"{' | '.join(some):<28} {said}")
    return "\n".join(["```", *lines, "```"])


def _rows() -> list[tuple[list[str], bool]]:
    """Returns the names in each row of the contract, and whether they are rooms."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = project["tool"]["importlinter"]["contracts"]
    [rows] = [one["layers"] for one in contracts if one["id"] == "layers"]
    return [([name.strip(" ()") for name in re.split("[|:]", row)], ":" in row) for row in rows]
