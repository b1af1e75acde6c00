"""Connects Kilo CLI: the plugin of opencode, of which it is a fork."""

from __future__ import annotations

from takeback.adapters.opencode.connection import OpenCodeConnection
from takeback.model.agent import Capabilities

connection = OpenCodeConnection(
    "kilo",
    "Kilo CLI",
    Capabilities(
        inside="`/takeback ...`",
        resumes="at once inside it, or `kilo --session=NEW`",
        tested="7.7.7",
    ),
)
