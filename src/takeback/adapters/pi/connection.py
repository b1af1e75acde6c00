"""Connects pi: our extension, copied into the folder that pi loads extensions from."""

from __future__ import annotations

import os

from takeback.adapters import connecting
from takeback.adapters.fields import files_in, on_path
from takeback.adapters.launcher import launcher_path, package_directory
from takeback.adapters.pi import config_home
from takeback.errors import TakebackError
from takeback.model.agent import Capabilities, FileEdit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_FOLDER = os.path.join("takeback", "integrations", "pi", "extensions", "takeback")
_START = "index.ts"
_NAMES = (_START, "client.ts", "menus.ts", "settings.ts", "travel.ts")
_MARK = b"takeback for pi"
_LAUNCHER = b'const LAUNCHER = "";'


class PiConnection:
    name = "pi"
    title = "pi"
    program = "pi"
    capabilities = Capabilities(
        conversation="new session, or pi's own tree",
        inside="`/takeback`, `/fork`, `/tree`, Esc Esc",
        resumes="at once, the prompt in the editor; or `pi --session NEW`",
        tested="0.87.1",
    )

    def is_there(self, environ: Mapping[str, str]) -> bool:
        return on_path("pi", environ) or os.path.isdir(config_home(environ))

    def connect(
        self, environ: Mapping[str, str], home: str, here: str | None
    ) -> tuple[FileEdit, ...]:
        return tuple(
            FileEdit(path, connecting.read(path), shipped(name, home), mode=0o644)
            for name, path in _paths(environ, here)
        )

    def disconnect(
        self, environ: Mapping[str, str], home: str, here: str | None
    ) -> tuple[FileEdit, ...]:
        edits = []
        for _, path in reversed(_paths(environ, here)):  # the folder goes with the first file
            before = connecting.read(path)
            edits.append(FileEdit(path, before, None if _is_ours(before) else before))
        return tuple(edits)

    def is_connected(self, environ: Mapping[str, str], home: str, here: str | None) -> bool:
        return all(_is_ours(connecting.read(path)) for _, path in _paths(environ, here))

    def advice(self) -> str:
        return "Sessions that are open now hear of it after /reload."

    def hindrance(self, environ: Mapping[str, str], here: str | None) -> str | None:
        return None

    def transcripts(self, environ: Mapping[str, str], root: str) -> tuple[tuple[str, float], ...]:
        sessions = environ.get("PI_CODING_AGENT_SESSION_DIR")
        if sessions:  # of all projects in one folder, with names that do not tell which
            return ()
        folder = root.lstrip("/").replace("/", "-").replace("\\", "-").replace(":", "-")
        return files_in(os.path.join(config_home(environ), "sessions", f"--{folder}--"), ".jsonl")


def shipped(name: str, home: str) -> bytes:
    """Returns a file of the extension, with the path of the launcher that it starts."""
    place = os.path.join(package_directory(), _FOLDER, name)
    text = connecting.read(place)
    if text is None:
        raise TakebackError(f"{place} is missing", hint="install takeback again")
    return text.replace(_LAUNCHER, b"const LAUNCHER = %s;" % _quoted(launcher_path(home)))


def _quoted(text: str) -> bytes:
    from takeback.model import json_text

    return json_text.dumps(text).encode()


def _paths(environ: Mapping[str, str], here: str | None) -> list[tuple[str, str]]:
    """Returns the name of each file of the extension, and where it goes."""
    base = config_home(environ) if here is None else os.path.join(here, ".pi")
    return [(name, os.path.join(base, "extensions", "takeback", name)) for name in _NAMES]


def _is_ours(data: bytes | None) -> bool:
    return data is not None and _MARK in data[:200]


connection = PiConnection()
