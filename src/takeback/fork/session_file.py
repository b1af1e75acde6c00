"""The file of a new session: where it may be created, and until when its agent has to import it.

An event says where a transcript is, and what is at that path now may be somebody else's doing: a
link in place of the directory could lead anywhere. So a new file goes

    into the very directory that the old transcript was read from: same device, same inode
    or beneath the agent's own directory (``~/.claude/projects``): that one may be a link, and
       is followed; below it no component may be one. What is missing there is made.

and nowhere else. The directory is opened by that rule and the file is created in what is open.
"""

from __future__ import annotations

import os

from takeback import durable, kernel
from takeback.errors import FILES_ALONE, Command, Refused, WriteFailed
from takeback.model.value import Value
from takeback.turns.said import place_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.context import Context
    from takeback.ports import Adapter


# -- parcels: sessions that were made and that their agent has yet to import
#
# An agent that keeps its sessions in a database imports a file. That file, the parcel, stays in the
# store until it is imported, once: a second time would bring back what the person has since taken
# back in the agent. So a parcel that exists is still to be imported, whatever happened before.


_FOLDER = "parcels"


def parcel_path(context: Context, adapter: Adapter, native: str) -> str | None:
    """Returns where a session waits for its agent; None if the agent reads files itself."""
    name = adapter.importer.parcel(native) if adapter.importer is not None else None
    return None if name is None else context.store.path(_FOLDER, name)


def check_delivery(context: Context, adapter: Adapter) -> None:
    """Raises Refused if a parcel could not be delivered; changes nothing."""
    if adapter.importer is not None:
        adapter.importer.check(context.environ, context.store.is_workspace)


def deliver(context: Context, adapter: Adapter, native: str, directory: str) -> str | None:
    """Has the agent import a waiting session; returns the reason if that fails."""
    path = parcel_path(context, adapter, native)
    if path is None or adapter.importer is None or not os.path.lexists(path):
        return None
    try:
        adapter.importer.take_in(path, directory, context.environ, context.store.is_workspace)
        durable.unlink(path)
    except Refused as error:
        return error.message
    except OSError as error:
        return WriteFailed.of("removing what was imported", error).message
    return None


# -- the file of a new session, created only where its agent keeps such files, and through no link


_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class Berth(Value):
    """Where a session's file may be created: in the directory ``place``, or beneath ``root``.

    An empty one allows nothing. An empty ``path`` means that there is no file.
    """

    path: str
    place: str = ""
    root: str = ""

    def check(self, checkpoint: str) -> None:
        """Raises Refused if the file could not be created now; changes nothing."""
        if not self.path:
            return
        try:
            os.close(self._open(make=False))
        except FileNotFoundError:  # beneath the root: it is created with the file
            return
        except OSError as error:
            raise self._refused(error, checkpoint) from None

    def write(self, data: bytes, checkpoint: str) -> str:
        """Creates the file, which must not exist unless with these very bytes.

        Returns the place of its directory. Raises Refused or WriteFailed; may be called again
        after a crash.
        """
        try:
            fd = self._open(make=True)
        except OSError as error:
            raise self._refused(error, checkpoint) from None
        try:
            durable.create_file(os.path.basename(self.path), data, dir_fd=fd)
            return place_of(os.fstat(fd))
        except OSError as error:
            raise WriteFailed.of("writing the new session", error) from error
        finally:
            os.close(fd)

    def _open(self, *, make: bool) -> int:
        """Opens the directory; raises OSError: FileNotFoundError if it may be created."""
        folder = os.path.dirname(self.path)
        if not folder.startswith("/"):
            raise _NotAllowed("its path is not absolute")
        fd = self._recorded(folder)
        if fd is not None:
            return fd
        inside = self._below_root(folder)
        if inside is None:
            raise _NotAllowed("it is not the directory that the conversation was read from")
        return _descend(self.root, inside, make=make)

    def _recorded(self, folder: str) -> int | None:
        """Opens the directory if it is the one that was recorded."""
        if not self.place:
            return None
        try:
            fd = os.open(folder, _FLAGS)
        except (OSError, ValueError):
            return None
        if place_of(os.fstat(fd)) == self.place:
            return fd
        os.close(fd)
        return None

    def _below_root(self, folder: str) -> list[bytes] | None:
        """Returns the components below the root, which may be named with or without its links."""
        if not self.root.startswith("/"):
            return None
        for root in (self.root, os.path.realpath(self.root)):
            if f"{folder}/".startswith(f"{root}/"):
                return [name for name in os.fsencode(folder[len(root) :]).split(b"/") if name]
        return None

    def _refused(self, error: OSError, checkpoint: str) -> Refused:
        reason = error.strerror or str(error)
        return Refused(
            f"the new session cannot be written into {os.path.dirname(self.path) or '.'}: {reason}",
            hint=(
                "have its bytes: ",
                Command("cat", checkpoint, "--conversation"),
                "; or take back the files alone: ",
                FILES_ALONE,
            ),
        )


class _NotAllowed(OSError):
    """No rule allows the directory."""


def _descend(root: str, names: list[bytes], *, make: bool) -> int:
    """Opens a directory below the root, one component at a time."""
    if make:
        durable.make_directories(root)
    fd = os.open(root, _FLAGS)
    for name in names:
        try:
            following = _enter(fd, name, make=make)
        finally:
            os.close(fd)
        fd = following
    return fd


def _enter(fd: int, name: bytes, *, make: bool) -> int:
    try:
        return kernel.open_directory_beneath(fd, name)
    except FileNotFoundError:
        if not make:
            raise
    try:
        durable.mkdir(name, dir_fd=fd)
    except FileExistsError:  # another session has just created it
        pass
    return kernel.open_directory_beneath(fd, name)
