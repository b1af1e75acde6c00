"""What looks at everything have found of the watch: one line in the store, for ``doctor``.

<looks at everything that were compared> <rounds that relied on it> <directories missed> <last one>
"""

from __future__ import annotations

from takeback import durable
from takeback.model.value import Value
from takeback.ordinary import ordinary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.store.locked import Locked
    from takeback.store.store import Store

_NAME = "watched"


class Tally(Value):
    """How often the watch was held against a look at everything, and what it had missed."""

    looks: int = 0
    rounds: int = 0
    missed: int = 0
    last: bytes = b""


def read(store: Store) -> Tally:
    """Returns the tally; all 0 if there is none, or it does not read."""
    try:
        with open(store.path(_NAME), "rb", opener=ordinary) as file:
            looks, rounds, missed, last = file.read().split(b" ", 3)
        return Tally(int(looks), int(rounds), int(missed), last)
    except (OSError, ValueError):
        return Tally()


def add(lock: Locked, rounds: int, missed: list[bytes]) -> None:
    """Adds one look at everything to the tally; it is disposable, so a failure is nobody's."""
    before = read(lock.store)
    now = Tally(
        before.looks + 1,
        before.rounds + rounds,
        before.missed + len(missed),
        missed[-1] if missed else before.last,
    )
    line = b"%d %d %d %b" % (now.looks, now.rounds, now.missed, now.last)
    try:
        durable.replace_file(lock.store.path(_NAME), line, flush=False)
    except OSError:
        return
