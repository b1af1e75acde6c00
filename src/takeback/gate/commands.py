"""What a model may do below its agent, command by command.

Nothing that cannot be taken back is done for it, whether a turn runs or not; what can be is done
between turns (asker.py). Every command is listed here, new ones too.
"""

from __future__ import annotations

ALLOWED = "allowed"
"""It only reads, or only adds."""
REFUSED = "refused"
"""Only for the person, except as a dry run."""
TOLD_APART = "told apart"
"""Partly only for the person: the operation itself refuses that part."""

FROM_INSIDE = {
    "init": REFUSED,
    "pick": TOLD_APART,
    "status": TOLD_APART,  # not --seen
    "checkpoint": ALLOWED,
    "run": TOLD_APART,  # with the setting agent_may_run: what a model may run, its agent decides
    "log": ALLOWED,
    "sessions": ALLOWED,
    "tree": ALLOWED,
    "search": ALLOWED,
    "show": ALLOWED,
    "diff": ALLOWED,
    "cat": TOLD_APART,  # not a secret, nothing outside
    "blame": TOLD_APART,  # as cat
    "compare": ALLOWED,
    "rewind": TOLD_APART,  # the setting agent_may_rewind allows it, and undo and redo
    "revert": TOLD_APART,
    "apply": TOLD_APART,  # not to another directory
    "bisect": TOLD_APART,  # as run; not --reset, nor the revert it offers
    "undo": TOLD_APART,
    "redo": TOLD_APART,
    "fork": TOLD_APART,  # not the files here, nor any directory
    "summarise": REFUSED,  # it sends the conversation to a program that the person pays for
    "label": TOLD_APART,  # giving a name, not removing one
    "verify": ALLOWED,
    "doctor": TOLD_APART,  # not --adopt, nor --fix
    "config": TOLD_APART,  # not a setting
    "off": REFUSED,
    "on": REFUSED,
    "prune": REFUSED,
    "purge": REFUSED,
    "forget": REFUSED,
    "uninstall": REFUSED,
    "serve": REFUSED,
    "acp": REFUSED,  # who speaks for the editor speaks for the person
    "demo": TOLD_APART,  # not into a directory of its choice
    "mcp": ALLOWED,  # its tools look, and make checkpoints
    "hook": TOLD_APART,  # events only add; the requests of an extension are told apart
    "completion": ALLOWED,
}
