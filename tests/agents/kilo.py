"""Drives Kilo CLI, which is worked as opencode is."""

from __future__ import annotations

from tests.agents.opencode import OpenCode

_OFF = ("DISABLE_SESSION_INGEST", "DISABLE_SHARE", "DISABLE_CODEBASE_INDEXING")


class Kilo(OpenCode):
    """Kilo CLI in a world, as a person has it who has another plugin already."""

    name = "kilo"
    own_refs = b".git/refs/kilo"  # its own snapshots

    def variables(self, *names: str) -> dict[str, str]:
        """Returns variables of its own that are on, and keeps it from asking its own servers."""
        own = {
            "KILO_API_URL": self.world.model.url,
            "KILO_SESSION_INGEST_URL": self.world.model.url,
            "KILO_EVENT_SERVICE_URL": self.world.model.url,
            "KILO_TELEMETRY_LEVEL": "off",
            "GIT_OPTIONAL_LOCKS": "0",  # its looks at the project write no index
        }
        return own | super().variables(*_OFF, *names)
