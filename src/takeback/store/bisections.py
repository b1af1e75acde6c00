"""The bisection under way: what is asked, and what the command has said so far.

    bisect.json    the inquiry, and each verdict; replaced as a whole after every run
    bisect.lock    held by the process that runs the command

A process that is killed loses the run under way, nothing more.
"""

from __future__ import annotations

from takeback import durable
from takeback.errors import Command, InUse, StoreDamaged
from takeback.model import codec, json_text
from takeback.model.bisection import Inquiry, Judged
from takeback.ordinary import ordinary
from takeback.store.lock import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from takeback.store.store import Store

_FILE = "bisect.json"
_LOCK = "bisect.lock"


def read_bisection(store: Store) -> tuple[Inquiry, list[Judged]] | None:
    """Returns the one under way, None if there is none; raises StoreDamaged."""
    try:
        with open(store.path(_FILE), encoding="utf-8", opener=ordinary) as file:
            record: Any = json_text.loads(file.read())
        said = [codec.decode(Judged, one) for one in record["said"]]
        return codec.decode(Inquiry, record), said
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise StoreDamaged(
            f"the bisection under way cannot be read: {error}",
            hint=("give it up: ", Command("bisect", "--reset")),
        ) from None


def write_bisection(store: Store, inquiry: Inquiry, said: Iterable[Judged]) -> None:
    """Keeps it, on the disk when it returns; raises OSError."""
    record = {"v": 1, **codec.encode(inquiry), "said": [codec.encode(one) for one in said]}
    durable.replace_file(store.path(_FILE), (json_text.dumps(record) + "\n").encode())


def remove_bisection(store: Store) -> bool:
    """Gives it up; False if there is none. Raises OSError."""
    try:
        durable.unlink(store.path(_FILE))
    except FileNotFoundError:
        return False
    durable.sync_directory(store.directory)
    return True


class Bisecting:
    """Lets one process at a time run the command of a workspace's bisection; raises InUse."""

    def __init__(self, store: Store) -> None:
        self._lock = Lock(store.path(_LOCK))

    def __enter__(self) -> None:
        try:
            self._lock.acquire("bisect", wait=0)
        except InUse:
            raise InUse(
                "another process runs the bisection of this workspace",
                hint="wait for it to end, or end it",
            ) from None

    def __exit__(self, *exc: object) -> None:
        self._lock.release()
