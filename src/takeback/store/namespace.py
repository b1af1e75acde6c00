"""The refs of a store: what each is called, what it stands for, and what a name may contain.

    refs/takeback/sessions/<machine>/<session>    the newest checkpoint; it leads to the rest
    refs/takeback/local/<machine>/<session>       its newest saved files
    refs/takeback/labels/<machine>/<checkpoint>   the name that a person gave to a checkpoint
    refs/takeback/operations/<machine>            the newest line of the operation log
    refs/takeback/trash/<machine>/<prune>         what a prune dropped, until its grace is over

A machine (location.py) writes only the refs that have its name, except that a prune writes all of
this copy anew (history.py); readers read those of all machines. No other module spells a ref. Code
that asks what happened here lists the kinds that it means, never all of ``refs/takeback``: anything
else there, even of a newer takeback, is not a session.
"""

from __future__ import annotations

from takeback.model.ids import CheckpointId, MachineId, SessionId, digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.git.objects import ObjectId
    from takeback.git.refs import Refs

_ROOT = "refs/takeback/"
SESSIONS = _ROOT + "sessions/"
LOCAL = _ROOT + "local/"
LABELS = _ROOT + "labels/"
OPERATIONS = _ROOT + "operations/"
TRASH = _ROOT + "trash/"

EVERYTHING = _ROOT.rstrip("/")
"""All refs of takeback, also of a newer one: to look whether anything leads to a commit."""
SHOWN = (SESSIONS, LABELS, OPERATIONS)
"""What people see of a store: a screen changes only if one of these moves."""
NUMBERED = (SESSIONS, LOCAL, LABELS, OPERATIONS)
"""Whose records have a sequence number."""

_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-+")
_MARK = "+"
"""Precedes a hash, and occurs in no name that is kept as it is."""
_LONGEST_PLAIN = 100
_LONGEST = 200


def is_name(text: str) -> bool:
    """Tells whether ``text`` can be one part of a ref's name, and so the name of a file."""
    return (
        0 < len(text) <= _LONGEST
        and _LETTERS.issuperset(text)
        and not text.startswith((".", "-"))
        and not text.endswith((".", ".lock"))
        and ".." not in text
    )


def session_id(agent: str, native: str) -> SessionId:
    """Returns our name for an agent's session, valid as a file name and in a git ref.

    Any two texts can be an agent and its session, and no two pairs get the same name, nor names
    that differ only in upper and lower case, which many disks take for one. A dash in the agent's
    name could also be part of another's session, so such a name is marked too.
    """
    text = f"{agent}-{native}"
    is_short = len(text) <= _LONGEST_PLAIN and text == text.lower()
    if "-" not in agent and is_short and _MARK not in text and is_name(text):
        return SessionId(text)
    return SessionId(_marked(text, f"{len(agent)}:{agent}{native}"))


def _marked(text: str, whole: str) -> str:
    """Returns a name for any text: its readable part, and a hash of ``whole``.

    No plain name looks like it, so nobody can take another's name on purpose.
    """
    kept = "".join(c if c in _LETTERS and c != _MARK else "_" for c in text[:_LONGEST_PLAIN])
    return f"{kept.replace('..', '__').lstrip('.-')}{_MARK}{digest(whole)}"


def session_ref(machine: str, session: str) -> str:
    """Returns the ref of what a machine wrote to a session."""
    return f"{SESSIONS}{machine}/{session}"


def local_ref(machine: str, session: str) -> str:
    """Returns the ref of what a session saved for this machine only."""
    return f"{LOCAL}{machine}/{session}"


def label_ref(machine: str, checkpoint: CheckpointId) -> str:
    """Returns the ref of the label that a machine gave to a checkpoint."""
    return f"{LABELS}{machine}/{checkpoint}"


def log_ref(machine: str) -> str:
    """Returns the ref of a machine's operations."""
    return OPERATIONS + machine


def trash_ref(machine: str, prune: str) -> str:
    """Returns the ref of what a prune dropped."""
    return f"{TRASH}{machine}/{prune}"


def session_of(ref: str) -> SessionId:
    """Returns the session of a ref of ``SESSIONS`` or ``LOCAL``."""
    return SessionId(ref.rpartition("/")[2])


def labelled_by(ref: str) -> CheckpointId:
    """Returns the checkpoint that a ref of ``LABELS`` names."""
    return CheckpointId(ref.rpartition("/")[2])


def prune_of(ref: str) -> str:
    """Returns the prune whose trash a ref of ``TRASH`` holds."""
    return ref.rpartition("/")[2]


def machine_of(ref: str) -> MachineId:
    """Returns the machine that writes a ref."""
    return MachineId(ref.split("/")[3])


def is_log(ref: str) -> bool:
    """Tells whether a ref belongs to the operation log."""
    return ref.startswith(OPERATIONS)


def by_machine(refs: Refs, kind: str, name: str) -> dict[MachineId, ObjectId]:
    """Returns what each machine has under one name of a kind, such as one session."""
    found = {}
    for machine in refs.names(kind):
        tip = refs.read(f"{kind}{machine}/{name}")
        if tip is not None:
            found[MachineId(machine)] = tip
    return found


def of_others(refs: Refs, machine: str) -> dict[str, ObjectId]:
    """Returns the numbered refs that other machines wrote; empty, and quickly, without any."""
    found: dict[str, ObjectId] = {}
    for kind in NUMBERED:
        for other in refs.names(kind):
            if other != machine:
                found.update(refs.list(kind + other, damaged={}))
    return found


def listed(
    refs: Refs, kinds: tuple[str, ...], damaged: dict[str, str] | None = None
) -> dict[str, ObjectId]:
    """Returns the refs of some kinds, by name; damaged ones as ``Refs.list`` treats them."""
    return {ref: tip for kind in kinds for ref, tip in refs.list(kind, damaged=damaged).items()}
