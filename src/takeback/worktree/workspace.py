"""The workspace: which directory is protected, and which never is."""

from __future__ import annotations

import os
from stat import S_ISDIR

from takeback.errors import Command, NotAWorkspace
from takeback.model.path_text import to_text
from takeback.worktree import project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_DIRECTORY = "takeback works in a directory that is there"


class Workspace:
    """The root of the protected tree, held open, so that it does not matter if it is renamed."""

    def __init__(self, root: bytes) -> None:
        self.root = root
        try:
            self.fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            raise NotAWorkspace(
                f"cannot open {to_text(root)}: {os.strerror(error.errno or 0)}"
            ) from None

    def close(self) -> None:
        """Closes the descriptor; once more does nothing, as the number may be another's by then."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def relative(self, path: bytes, *, base: bytes) -> bytes:
        """Returns a path that a user gave, relative to the root; raises ValueError if outside.

        Links that lead to the workspace are resolved, those within it are not: what is a link now
        may have been a directory in the checkpoint in question.
        """
        full = os.path.normpath(os.path.join(base, path))
        if full == self.root:
            return b""
        start = full.find(b"/", 1)
        while start >= 0:
            inside = self._inside(os.path.realpath(full[:start]))
            if inside is not None:
                return os.path.join(inside, full[start + 1 :])
            start = full.find(b"/", start + 1)
        if os.path.realpath(full) == self.root:  # the workspace itself, by another name
            return b""
        raise ValueError("outside")

    def resolved(self, path: bytes, *, base: bytes) -> bytes:
        """Returns the file that a program means by a path, relative to the root, or ValueError.

        Every link in its directory part is followed, as opening it would. The last component is not
        followed if it is a link, and need not exist.
        """
        full = os.path.normpath(os.path.join(base, path))
        parent, name = os.path.split(full)
        inside = self._inside(os.path.join(os.path.realpath(parent), name))
        if inside is None:
            raise ValueError("outside")
        return inside

    def _inside(self, full: bytes) -> bytes | None:
        """Returns a real path relative to the root; None if it is not the root or below it."""
        if full == self.root:
            return b""
        above = self.root.rstrip(b"/") + b"/"
        return full[len(above) :] if full.startswith(above) else None


def find_root(start: bytes, *, has_store: Callable[[bytes], bool], home: bytes) -> bytes:
    """Returns the root of the workspace that ``start`` lies in.

    A linked git worktree's root; else the nearest ancestor that already has a store; else
    the git work tree's root; else the directory itself. A repository that covers the home
    directory (dotfiles) does not make it a workspace.
    """
    start = os.path.realpath(start)
    try:
        if not S_ISDIR(os.stat(start).st_mode):
            raise NotAWorkspace(f"{to_text(start)} is not a directory", hint=_DIRECTORY)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise NotAWorkspace(f"{to_text(start)}: {reason}", hint=_DIRECTORY) from None
    repositories = [r for r in project.enclosing(start) if r not in (home, b"/")]
    for root in repositories:
        git = project.git_directory(root)
        if git is not None and git.linked:
            return root
    for ancestor in _upwards(start):
        if has_store(ancestor):
            return ancestor
    return repositories[0] if repositories else start


def _upwards(path: bytes) -> Iterator[bytes]:
    while True:
        yield path
        parent = os.path.dirname(path)
        if parent == path:
            return
        path = parent


def check_root(root: bytes, *, home: bytes, store_home: bytes, foreign_owner: bool) -> None:
    """Raises NotAWorkspace for a directory that takeback does not protect."""
    shown = to_text(root)
    if root == b"/" or root == home:
        raise NotAWorkspace(
            f"{shown} is not a workspace: it holds more than one project",
            hint="run takeback inside a project directory",
        )
    store = os.path.realpath(store_home)
    if store == root or store.startswith(root + b"/"):
        raise NotAWorkspace(
            f"the store {to_text(store)} would lie inside the workspace {shown}",
            hint="set TAKEBACK_HOME to a directory elsewhere",
        )
    if root.startswith(store + b"/"):
        raise NotAWorkspace(
            f"{shown} is not a workspace: takeback keeps its own things there",
            hint="run takeback inside a project directory",
        )
    owner = os.stat(root).st_uid
    if owner != os.geteuid() and not foreign_owner:
        raise NotAWorkspace(
            f"{shown} belongs to another user (uid {owner})",
            hint=("if that is right: ", Command("config", "foreign_owner", "true")),
        )
