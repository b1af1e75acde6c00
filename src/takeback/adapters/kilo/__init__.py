"""The adapter for Kilo CLI, a fork of opencode, as version 7.7 works."""

from __future__ import annotations

from takeback.adapters.opencode import OpenCode

adapter = OpenCode("kilo")
