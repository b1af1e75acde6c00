"""Turns an error of the system into one of ours, once, at the border of an operation."""

from __future__ import annotations

from takeback.errors import TakebackError, WriteFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType


class Translated:
    """``with Translated("the capture")``: an OSError inside becomes a WriteFailed.

    ``undo`` runs first, so that the interrupted work leaves nothing behind.
    """

    def __init__(self, what: str, undo: Callable[[], None] | None = None) -> None:
        self._what = what
        self._undo = undo

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None and self._undo is not None:
            self._undo()
        if isinstance(error, OSError) and not isinstance(error, TakebackError):
            raise WriteFailed.of(self._what, error) from error
