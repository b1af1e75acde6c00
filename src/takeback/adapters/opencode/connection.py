"""Connects opencode, and forks of it: the plugin, put where they load plugins from."""

from __future__ import annotations

import os

from takeback.adapters.connecting import read
from takeback.adapters.fields import on_path
from takeback.adapters.launcher import launcher_path, package_directory
from takeback.errors import TakebackError
from takeback.model.agent import Capabilities, FileEdit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_LAUNCHER = b'const LAUNCHER = ""'
_AGENT = b'const AGENT = "opencode"'
_HEAD = 2
"""How many lines at the beginning of the plugin say whose it is."""


class OpenCodeConnection:
    """opencode, or a fork of it that differs in its name alone."""

    def __init__(self, name: str, title: str, capabilities: Capabilities) -> None:
        self.name = self.program = name
        self.title = title
        self.capabilities = capabilities
        self._first = f"// takeback for {name}:".encode()

    def is_there(self, environ: Mapping[str, str]) -> bool:
        return on_path(self.program, environ) or os.path.isdir(self._config(environ))

    def connect(
        self, environ: Mapping[str, str], home: str, here: str | None
    ) -> tuple[FileEdit, ...]:
        path = self._path(environ, here)
        return (FileEdit(path, read(path), self.plugin_for(home), mode=0o644),)

    def disconnect(
        self, environ: Mapping[str, str], home: str, here: str | None
    ) -> tuple[FileEdit, ...]:
        path = self._path(environ, here)
        found = read(path)
        ours = found is not None and found.startswith(self._first)
        return (FileEdit(path, found, None if ours else found),)

    def is_connected(self, environ: Mapping[str, str], home: str, here: str | None) -> bool:
        """See the port; an older takeback's plugin counts, since it still works with this one."""
        found = read(self._path(environ, here))
        return found is not None and found.startswith(self._first) and _launcher(home) in found

    def advice(self) -> str:
        return f"{self.title} loads it when it is started the next time."

    def hindrance(self, environ: Mapping[str, str], here: str | None) -> str | None:
        return None

    def transcripts(self, environ: Mapping[str, str], root: str) -> tuple[tuple[str, float], ...]:
        """Returns none: only the agent's own database knows, and we do not read it."""
        return ()

    def plugin_for(self, home: str) -> bytes:
        """Returns the plugin as it is shipped, with the launcher that it starts, and for whom."""
        text = _shipped()
        *head, rest = text.split(b"\n", _HEAD)
        name = self.name.encode()
        head = [line.replace(b"opencode", name) for line in head]
        whole = b"\n".join([*head, rest]).replace(_LAUNCHER, _launcher(home), 1)
        return whole.replace(_AGENT, _AGENT.replace(b"opencode", name), 1)

    def _config(self, environ: Mapping[str, str]) -> str:
        base = environ.get("XDG_CONFIG_HOME") or os.path.join(environ.get("HOME", "/"), ".config")
        return os.path.join(base, self.name)

    def _path(self, environ: Mapping[str, str], here: str | None) -> str:
        folder = self._config(environ) if here is None else os.path.join(here, f".{self.name}")
        return os.path.join(folder, "plugins", "takeback.js")


def _shipped() -> bytes:
    place = os.path.join(package_directory(), "takeback", "integrations", "opencode", "takeback.js")
    text = read(place)
    if text is None or _LAUNCHER not in text or _AGENT not in text:
        raise TakebackError(f"{place} is missing", hint="install takeback again")
    return text


def _launcher(home: str) -> bytes:
    from takeback.model import json_text

    return b"const LAUNCHER = " + json_text.dumps(launcher_path(home)).encode()


connection = OpenCodeConnection(
    "opencode",
    "opencode",
    Capabilities(
        inside="`/takeback ...`, or `!takeback ...`",
        resumes="at once inside it, or `opencode --session=NEW`",
        tested="1.18.33",
    ),
)
