"""What a model may do from inside its own running turn, command by command.

Whoever allows an agent ``takeback ...`` must be safe: nothing that destroys or redirects is done
for it (``app.caller``). Each command has its place here, a new one too.
"""

from __future__ import annotations

ALLOWED = "allowed"
"""It reads, or adds and takes nothing away."""
REFUSED = "refused"
"""It is for the person; a dry run is not."""
TOLD_APART = "told apart"
"""Some of it is for the person: the operation itself refuses that."""

FROM_INSIDE = {
    "init": REFUSED,
    "pick": TOLD_APART,
    "status": TOLD_APART,  # not --seen
    "checkpoint": ALLOWED,
    "log": ALLOWED,
    "sessions": ALLOWED,
    "tree": ALLOWED,
    "search": ALLOWED,
    "show": ALLOWED,
    "diff": ALLOWED,
    "cat": ALLOWED,
    "rewind": TOLD_APART,  # the setting agent_may_rewind allows it, and undo and redo
    "undo": TOLD_APART,
    "redo": TOLD_APART,
    "fork": TOLD_APART,  # not the files here, nor any directory
    "label": TOLD_APART,  # a name is given, not taken off
    "verify": ALLOWED,
    "doctor": TOLD_APART,  # not --adopt
    "config": TOLD_APART,  # not a setting
    "off": REFUSED,
    "on": REFUSED,
    "forget": REFUSED,
    "uninstall": REFUSED,
    "demo": TOLD_APART,  # not into a directory of its choice
    "hook": TOLD_APART,  # events add; what an extension asks for is told apart
    "completion": ALLOWED,
}
