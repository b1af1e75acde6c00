"""Presence: which directories of workspaces are there, though some may never answer.

A directory may lie on a network file system that hangs. Only the thread that asks about it then
hangs with it, and nobody asks a second time before it answers.
"""

from __future__ import annotations

import asyncio
import os
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_PATIENCE = 1.0


class Presence:
    """Tells which of many directories are there; one that does not answer is not."""

    def __init__(self, look: Callable[[bytes], bool] = os.path.isdir) -> None:
        self._look = look
        self._asked: dict[bytes, asyncio.Future[bool]] = {}

    async def of(self, roots: Iterable[bytes]) -> dict[bytes, bool]:
        """Returns which are there; waits for those that hang only when they are first asked."""
        answers: dict[bytes, asyncio.Future[bool]] = {}
        silent = set(self._asked)
        for root in roots:
            answers[root] = self._asked[root] if root in self._asked else self._ask(root)
        waiting = [answer for root, answer in answers.items() if root not in silent]
        if waiting:
            await asyncio.wait(waiting, timeout=_PATIENCE)
        return {root: answer.done() and answer.result() for root, answer in answers.items()}

    def _ask(self, root: bytes) -> asyncio.Future[bool]:
        loop = asyncio.get_running_loop()
        answer = self._asked[root] = loop.create_future()

        def tell(there: bool) -> None:
            del self._asked[root]
            answer.set_result(there)

        def look() -> None:
            there = self._look(root)
            try:
                loop.call_soon_threadsafe(tell, there)
            except RuntimeError:  # the server has ended meanwhile
                pass

        threading.Thread(target=look, daemon=True, name="takeback-presence").start()
        return answer
