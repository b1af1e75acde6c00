"""What the core asks of its surroundings, on one page."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Clock(Protocol):
        """Tells the time, in seconds since the epoch, UTC."""

        def now(self) -> float: ...

    class Reporter(Protocol):
        """Hears how a long job goes. The core never prints."""

        def progress(self, what: str, done: int, total: int) -> None:
            """Called now and then; ``total`` is 0 while it is not known."""

        def note(self, text: str) -> None:
            """One sentence that the user should read, such as a recovery that was made."""

    class ObjectSink(Protocol):
        """Where a scan puts bytes that no earlier snapshot holds."""

        def has(self, oid: bytes) -> bool:
            """Tells whether the object is kept and reads back; never believes a damaged one."""

        def add(self, kind: int, data: bytes, oid: bytes | None = None) -> bytes:
            """Keeps an object and returns its id."""

        def add_stream(self, kind: int, fd: int, size: int) -> bytes | None:
            """Keeps exactly ``size`` bytes read from ``fd``; None if there were fewer or more."""

        def fork(self) -> ObjectSink:
            """Returns a sink for a forked process, which publishes by itself."""

        def publish(self) -> list[str]:
            """Makes what was added durable and visible to readers; names what it wrote."""

        def adopt(self, names: list[str]) -> None:
            """Takes over what a forked sink has published."""

        def discard(self) -> None:
            """Forgets what was added since the last publish."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        import time

        return time.time()


class SilentReporter:
    """Hears and says nothing."""

    def progress(self, what: str, done: int, total: int) -> None:
        pass

    def note(self, text: str) -> None:
        pass
