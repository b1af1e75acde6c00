"""Connects Scribe: one line of its settings names the command that it calls at each event."""

import json
import os

from takeback.agents import Capabilities, FileEdit, hook_command, on_path, read_file


class ScribeConnection:
    """Fulfils takeback.ports.Connection."""

    name = "scribe"
    title = "Scribe"
    program = "scribe"
    capabilities = Capabilities(resumes="`scribe --session=NEW`", tested="1.0")

    def is_there(self, environ):
        return on_path("scribe", environ) or os.path.isdir(_folder(environ, None))

    def connect(self, environ, home, here):
        return _edit(_settings(environ, here), hook_command(self.name, home))

    def disconnect(self, environ, home, here):
        return _edit(_settings(environ, here), None)

    def is_connected(self, environ, home, here):
        found = json.loads(read_file(_settings(environ, here)) or "{}")
        return found.get("hook") == hook_command(self.name, home)

    def advice(self):
        return ""

    def hindrance(self, environ, here):
        return None

    def transcripts(self, environ, root):
        return ()


def _folder(environ, here):
    return os.path.join(here or environ.get("HOME", "/"), ".scribe")


def _settings(environ, here):
    return os.path.join(_folder(environ, here), "settings.json")


def _edit(path, command):
    before = read_file(path)
    found = json.loads(before or "{}")
    found.pop("hook", None)
    after = {**found, "hook": command} if command else found
    text = f"{json.dumps(after, indent=2)}\n".encode() if after else None
    return (FileEdit(path, before, text),)


connection = ScribeConnection()
