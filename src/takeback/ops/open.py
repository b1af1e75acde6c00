"""Opens the workspace that a directory lies in, with its store."""

from __future__ import annotations

import os

from takeback.errors import NotAWorkspace, StoreDamaged
from takeback.model.path_text import to_text
from takeback.ops.failures import Translated
from takeback.paths import takeback_home, user_home
from takeback.store import place as places
from takeback.store.store import Store
from takeback.worktree.workspace import Workspace, check_root, find_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from takeback.ports import Reporter
    from takeback.store.place import Place


def locate(start: bytes, environ: Mapping[str, str], *, foreign_owner: bool) -> Place:
    """Returns the place of the workspace's store, which need not exist. Writes nothing."""
    home = takeback_home(environ)
    root = find_root(
        start,
        has_store=lambda path: (
            places.has_place(home, path) and places.exists(places.place_for(home, path))
        ),
        home=user_home(environ),
    )
    if not places.has_place(home, root):
        root = places.moved_root(home, os.path.realpath(start)) or root
    check_root(
        root,
        home=user_home(environ),
        store_home=os.fsencode(home),
        foreign_owner=foreign_owner,
    )
    return places.place_for(home, root)


def open_store(
    place: Place, environ: Mapping[str, str], reporter: Reporter, *, create: bool
) -> Store:
    """Opens the store, taking over that of a moved workspace; makes one if ``create``."""
    home = takeback_home(environ)
    with Translated("opening the store"):
        if not places.exists(place):
            earlier = places.earlier_place(home, place)
            if earlier is not None:
                _take_over(earlier, place, environ, reporter)
        if places.exists(place):
            store = Store.open(place, environ)
            if place.identity is not None:
                if places.read_place(place.directory) != place:  # it has a new .git, say
                    places.write_place(place)
                places.remember(place)
            return store
        if not create:
            raise NotAWorkspace(
                f"{to_text(place.root)} has no checkpoints yet",
                hint="make the first one: takeback checkpoint",
            )
        return Store.create(place, environ)


def _take_over(old: Place, new: Place, environ: Mapping[str, str], reporter: Reporter) -> None:
    store = Store.open(old, environ)
    try:
        store.lock.acquire("taking over a moved workspace", wait=10)
        try:
            places.take_over(old, new)
        finally:
            store.lock.release()
    finally:
        store.close()
    if old.root != new.root:
        reporter.note(
            f"This workspace was at {to_text(old.root)} before; its checkpoints came along."
        )


def open_workspace(place: Place) -> Workspace:
    """Opens the root of the workspace."""
    return Workspace(place.root)


def adopt(place: Place, name: str, environ: Mapping[str, str]) -> None:
    """Makes the store of what stood at this path before the store of what stands there now.

    The present store, if any, is kept as one that stood here before.
    """
    home = takeback_home(environ)
    place = place.replace(identity=places.identity_of(place.root))
    for other in places.strangers(home, place):
        if os.path.basename(other.directory) == name:
            break
    else:
        raise StoreDamaged(
            f"there is no earlier store {name!r} of this path", hint="list them: takeback doctor"
        )
    with Translated("the take-over"):
        store = Store.open(other, environ)
        store.lock.acquire("taking over an earlier workspace", wait=10)
        try:
            if places.exists(place):
                places.set_aside(place)
            places.take_over(other, place)
        finally:
            store.lock.release()
            store.close()
