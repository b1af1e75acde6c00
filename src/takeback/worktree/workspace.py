"""The workspace: which directory is protected, and which never is."""

from __future__ import annotations

import os
from stat import S_ISDIR

from takeback.errors import NotAWorkspace
from takeback.model.path_text import to_text
from takeback.worktree import project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Workspace:
    """The root of the protected tree, held open: what happens to its name does not matter."""

    def __init__(self, root: bytes) -> None:
        self.root = root
        try:
            self.fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            raise NotAWorkspace(
                f"cannot open {to_text(root)}: {os.strerror(error.errno or 0)}"
            ) from None

    def close(self) -> None:
        os.close(self.fd)

    def relative(self, path: bytes, *, base: bytes) -> bytes:
        """Returns a path that a user gave, relative to the root; raises ValueError if outside.

        Only the directory part is resolved: the last component may be a link that is meant
        itself, and need not exist.
        """
        full = os.path.normpath(os.path.join(base, path))
        parent = os.path.realpath(os.path.dirname(full))
        name = os.path.basename(full)
        full = os.path.join(parent, name) if name else parent
        if full == self.root:
            return b""
        if not full.startswith(self.root.rstrip(b"/") + b"/"):
            raise ValueError("outside")
        return full[len(self.root.rstrip(b"/")) + 1 :]


def find_root(start: bytes, *, has_store: Callable[[bytes], bool], home: bytes) -> bytes:
    """Returns the root of the workspace that ``start`` lies in.

    A linked git worktree's root; else the nearest ancestor that already has a store; else
    the git work tree's root; else the directory itself. A repository that covers the home
    directory (dotfiles) does not make it a workspace.
    """
    start = os.path.realpath(start)
    try:
        if not S_ISDIR(os.stat(start).st_mode):
            raise NotAWorkspace(f"{to_text(start)} is not a directory")
    except OSError as error:
        raise NotAWorkspace(f"{to_text(start)}: {os.strerror(error.errno or 0)}") from None
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
    owner = os.stat(root).st_uid
    if owner != os.geteuid() and not foreign_owner:
        raise NotAWorkspace(
            f"{shown} belongs to another user (uid {owner})",
            hint="if that is right: takeback config foreign_owner true",
        )
