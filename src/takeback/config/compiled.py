"""Settings as they were read, for hooks, which have no time to parse TOML.

    settings.compiled   the SHA-1 of what follows, in hex, and an end of line
                        {"path": ..., "signature": [...], "settings": {...}}, as JSON

It can be deleted at any time. It is used only if nobody else can have written it, if it is whole,
and if the settings file is the very one that it was made from: same path, device, inode, size and
times. A file that was changed a moment ago is parsed but not kept: changed again within one tick of
the clock it would look the same.
"""

from __future__ import annotations

import os
import time
from stat import S_ISREG

from takeback import durable
from takeback.c_modules import small_sha1
from takeback.model import json_text
from takeback.ownership import why_not_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_SETTLED = 2.0
"""Seconds after which a file system surely gives a changed file different times."""
_LONGEST = 1 << 20
_NO_FILE = "it is not a file, or far too large"
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK

_seen: dict[str, tuple[list[int], dict[str, Any]]] = {}
"""What this process has read, under the same conditions."""


class CompiledSettings:
    """One reading of a settings file; ``kept`` names the compiled one, or nothing.

    It is asked only where this process has not read the file yet.
    """

    def __init__(self, path: str, kept: Callable[[], str]) -> None:
        self.path = path
        self._kept = kept
        self._signature: list[int] = []
        self._is_new = True

    def known(self) -> dict[str, Any] | None:
        """Returns what was read from the file before; None if it has to be parsed.

        Raises OSError, or ValueError if it is no file.
        """
        status = os.stat(self.path)
        if not S_ISREG(status.st_mode):
            raise ValueError(_NO_FILE)
        self._signature = _signature(status)
        seen = _seen.get(self.path)
        found = seen[1] if seen is not None and seen[0] == self._signature else self._compiled()
        self._is_new = found is None
        return found

    def last_known(self) -> dict[str, Any] | None:
        """Returns what the file last said when it could be read; None if that is not known."""
        return self._compiled(of_now=False)

    def text(self) -> bytes:
        """Returns what the file says; raises OSError, or ValueError if it is no file."""
        text, status = _read_bytes(self.path)
        if _signature(status) != self._signature:
            self._signature = []  # changed meanwhile: good for now, but not to be kept
        return text

    def keep(self, values: dict[str, Any]) -> None:
        """Remembers the values, if the file can no longer change unnoticed."""
        if not self._signature or not self._is_settled():
            return
        _seen[self.path] = self._signature, values
        path = self._kept() if self._is_new else ""
        if path:
            self._compile(path, values)

    def _is_settled(self) -> bool:
        *_, changed, made = self._signature
        return max(changed, made) / 1e9 < time.time() - _SETTLED

    def _compiled(self, *, of_now: bool = True) -> dict[str, Any] | None:
        path = self._kept()
        if not path or why_not_private(path):
            return None
        try:
            fd = os.open(path, _FLAGS)
        except OSError:
            return None
        try:
            data = os.read(fd, _LONGEST)
            digest, _, body = data.partition(b"\n")
            if _digest(body) != digest:
                return None
            record = json_text.loads(body.decode("ascii"))
        except (OSError, ValueError):
            return None
        finally:
            os.close(fd)
        if not isinstance(record, dict) or record.get("path") != self.path:
            return None
        settings = record.get("settings")
        if of_now and record.get("signature") != self._signature:
            return None
        return settings if isinstance(settings, dict) else None

    def _compile(self, path: str, values: dict[str, Any]) -> None:
        record = {"path": self.path, "signature": self._signature, "settings": values}
        body = json_text.dumps(record).encode("ascii")
        if len(body) > _LONGEST >> 1:
            return
        try:
            durable.replace_file(path, _digest(body) + b"\n" + body, flush=False)
        except OSError:  # no home yet, a full disk, a sandbox: the next call tries again
            return


def read_text(path: str) -> tuple[str, os.stat_result]:
    """Returns the text of a settings file, and what it was then; never waits for a pipe.

    Raises OSError, or ValueError if it is no file or no text.
    """
    data, status = _read_bytes(path)
    return data.decode(), status


def _read_bytes(path: str) -> tuple[bytes, os.stat_result]:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(fd)
        if not S_ISREG(status.st_mode) or status.st_size > _LONGEST:
            raise ValueError(_NO_FILE)
        data = os.read(fd, _LONGEST)
    finally:
        os.close(fd)
    return data, status


def _signature(status: os.stat_result) -> list[int]:
    return [
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    ]


def _digest(body: bytes) -> bytes:
    hasher = small_sha1()
    hasher.update(body)
    return hasher.hexdigest().encode()  # type: ignore[no-any-return]
