"""Connects opencode: its plugin, put where opencode loads plugins from."""

from __future__ import annotations

import os

from takeback.adapters.connecting import read
from takeback.adapters.finding import on_path
from takeback.adapters.launcher import launcher_path, package_directory
from takeback.errors import TakebackError
from takeback.model.connection import Capabilities, FileEdit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_PLACE = b'const LAUNCHER = ""'
_FIRST = b"// takeback for opencode:"


class OpenCodeConnection:
    name = "opencode"
    title = "opencode"
    program = "opencode"
    capabilities = Capabilities(
        inside="`/takeback ...`, or `!takeback ...`",
        resumes="at once inside it, or `opencode --session=NEW`",
        tested="1.18.33",
    )

    def is_there(self, environ: Mapping[str, str]) -> bool:
        return on_path(self.program, environ) or os.path.isdir(_config(environ))

    def connect(
        self, environ: Mapping[str, str], home: str, here: str | None
    ) -> tuple[FileEdit, ...]:
        path = _plugin(environ, here)
        return (FileEdit(path, read(path), plugin_for(home), mode=0o644),)

    def disconnect(
        self, environ: Mapping[str, str], home: str, here: str | None
    ) -> tuple[FileEdit, ...]:
        path = _plugin(environ, here)
        found = read(path)
        ours = found is not None and found.startswith(_FIRST)
        return (FileEdit(path, found, None if ours else found),)

    def is_connected(self, environ: Mapping[str, str], home: str, here: str | None) -> bool:
        """See the port; an older takeback's plugin counts, since it still works with this one."""
        found = read(_plugin(environ, here))
        return found is not None and found.startswith(_FIRST) and _launcher(home) in found

    def advice(self) -> str:
        return "opencode loads it when it is started the next time."

    def hindrance(self, environ: Mapping[str, str], here: str | None) -> str | None:
        return None

    def newest_transcript(self, environ: Mapping[str, str], root: str) -> float | None:
        """Returns None: only opencode's own database knows, and we do not read it."""
        return None


def plugin_for(home: str) -> bytes:
    """Returns the plugin as it is shipped, with the launcher that it starts."""
    place = os.path.join(package_directory(), "takeback", "integrations", "opencode", "takeback.js")
    text = read(place)
    if text is None or _PLACE not in text:
        raise TakebackError(f"{place} is missing", hint="install takeback again")
    return text.replace(_PLACE, _launcher(home), 1)


def _launcher(home: str) -> bytes:
    from takeback.model import json_text

    return b"const LAUNCHER = " + json_text.dumps(launcher_path(home)).encode()


def _config(environ: Mapping[str, str]) -> str:
    base = environ.get("XDG_CONFIG_HOME") or os.path.join(environ.get("HOME", "/"), ".config")
    return os.path.join(base, "opencode")


def _plugin(environ: Mapping[str, str], here: str | None) -> str:
    folder = _config(environ) if here is None else os.path.join(here, ".opencode")
    return os.path.join(folder, "plugins", "takeback.js")


connection = OpenCodeConnection()
