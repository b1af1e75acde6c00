"""Everything that a package with its own agent imports from takeback.

docs/agents/your-own.md says how such a package is made; ``takeback.testing`` has the tests that
it should pass. What is not imported here may change with any version.
"""

from __future__ import annotations

from takeback.adapters import fields
from takeback.adapters.generic import Generic
from takeback.model import event as events
from takeback.model.agent import (
    Agent,
    Capabilities,
    EntryMatch,
    FileEdit,
    Headless,
    Message,
    ToolUse,
)
from takeback.model.checkpoint import Anchor, NewSession, Resume
from takeback.model.event import AgentEvent, ToolCall

__all__ = [
    "Agent",
    "AgentEvent",
    "Anchor",
    "Capabilities",
    "EntryMatch",
    "FileEdit",
    "Generic",
    "Headless",
    "Message",
    "NewSession",
    "Resume",
    "ToolCall",
    "ToolUse",
    "events",
    "fields",
    "hook_command",
    "json_lines_in",
    "on_path",
    "read_file",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from takeback.adapters.json_lines import JsonLine


# What no hook needs is loaded when it is called.


def json_lines_in(data: bytes) -> list[JsonLine]:
    """Returns the complete lines of a file of JSON objects, each with its bytes and its record.

    Every line is there, whatever it holds; one that is not an object has an empty record.
    """
    from takeback.adapters import json_lines

    return json_lines.read(data, json_lines.JsonLine)


def hook_command(agent: str, home: str) -> str:
    """Returns the command line that an agent's settings have to call at each event."""
    from takeback.adapters.launcher import command_for

    return command_for(agent, home)


def read_file(path: str) -> bytes | None:
    """Returns the bytes of a settings file; None if there is none."""
    from takeback.adapters.connecting import read

    return read(path)


def on_path(program: str, environ: Mapping[str, str]) -> bool:
    """Tells whether a program can be started by its name."""
    from takeback.adapters.fields import on_path as found

    return found(program, environ)
