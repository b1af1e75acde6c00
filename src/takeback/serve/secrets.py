"""The secret of one run: who knows it may ask; and the codes with which a page gets it."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import deque

from takeback.serve.settings import ServerSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_CHALLENGE = b"takeback challenge "


class Secrets:
    """Makes the secret, checks what clients bring, and counts wrong tries."""

    def __init__(self, settings: ServerSettings, clock: Callable[[], float]) -> None:
        self._settings = settings
        self._clock = clock
        self._codes: dict[str, float] = {}
        self._wrong: deque[float] = deque(maxlen=settings.wrong_tries + 1)
        self.secret = secrets.token_urlsafe(32)
        self.entered: Callable[[], None] = _nothing
        """Called when a code was used."""

    def is_right(self, given: bytes) -> bool:
        """Tells whether a client knows the secret; how long it takes says nothing about it."""
        return self._judged(hmac.compare_digest(given, self.secret.encode()))

    def proof(self, nonce: str) -> str:
        """Returns what only somebody who knows the secret can answer to a nonce."""
        message = _CHALLENGE + nonce.encode()
        return hmac.new(self.secret.encode(), message, hashlib.sha256).hexdigest()

    def new_code(self, seconds: float) -> str:
        """Returns a code that gives the secret, once, for a short time."""
        code, now = secrets.token_urlsafe(32), self._clock()
        self._codes = {known: ends for known, ends in self._codes.items() if now <= ends}
        self._codes[code] = now + seconds
        return code

    def redeem(self, code: str) -> str | None:
        """Returns the secret for a code and forgets the code; None if it is not valid any more."""
        ends = None
        for known in list(self._codes):
            if hmac.compare_digest(known.encode(), code.encode()):
                ends = self._codes.pop(known)
        valid = ends is not None and self._clock() <= ends
        if not self._judged(valid):
            return None
        self.entered()
        return self.secret

    @property
    def is_tried(self) -> bool:
        """Returns True while there were too many wrong tries within a minute."""
        full = len(self._wrong) > self._settings.wrong_tries
        return full and self._clock() - self._wrong[0] < 60

    def _judged(self, right: bool) -> bool:
        if not right and not self.is_tried:
            self._wrong.append(self._clock())
        return right


def _nothing() -> None:
    """Waits for nobody to enter."""
