"""Who owns a file: what others own or may write is not relied on.

Like ``handover``, which asks it before anything else is loaded, this imports C modules only.
"""

from takeback.c_modules import posix

_SYSTEM_GROUPS = 100


def why_not_private(path: str) -> str:
    """Returns why others could change what is at a path; empty if they cannot, or if it is missing.

    The rule is that of ssh: it belongs to this user or to root, and neither its group nor others
    may write it. Who may read it does not matter here.
    """
    try:
        status = posix.stat(path)
    except OSError:  # missing, or not accessible: then nobody can use it
        return ""
    if status.st_uid not in (0, posix.geteuid()):
        return "it belongs to another user"
    if status.st_mode & 0o022:
        return f"it can be written by others (mode {status.st_mode & 0o7777:o})"
    return ""


def others_may_write(path: str) -> bool:
    """Tells whether another user than root may change a program or the entries of a directory.

    A system's programs may belong to a group: groups below 100 are the system's own (root; staff
    and admin, who may become root), and one with the user's own number is theirs alone.
    """
    try:
        status = posix.stat(path)
    except OSError:
        return True
    if status.st_uid not in (0, posix.geteuid()):
        return True
    if status.st_mode & 0o002:
        return True
    return bool(status.st_mode & 0o020) and not (
        status.st_gid < _SYSTEM_GROUPS or status.st_gid == posix.geteuid()
    )
