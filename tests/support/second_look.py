"""An agent with a standby, each of whose rounds is held against a look by a second process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from takeback import Takeback
from takeback.context import SilentReporter
from takeback.model.checkpoint import Checkpoint
from takeback.store.namespace import session_id
from takeback.store.records import newest_checkpoint
from takeback.workspaces import locate, open_store
from tests.support.processes import wait_for
from tests.support.standby import PYTHON, Agent


class SecondLook:
    """Another store of the same workspace, in this process: each of its looks is at every file."""

    def __init__(self, place: Path, workspace: Path) -> None:
        environ = {**os.environ, "TAKEBACK_HOME": str(place / "second")}
        self._takeback = Takeback.open(workspace, environ=environ)

    def snapshot(self) -> str:
        return self._takeback.checkpoint(allow_large=True).checkpoint.snapshot

    def close(self) -> None:
        self._takeback.close()


class Rounds(Agent):
    """Calls its hooks turn after turn, and waits for each; ``watched`` counts its rounds."""

    def __init__(self, place: Path, workspace: Path) -> None:
        super().__init__(place, workspace, PYTHON)
        config = Path(os.environ["HOME"], ".config", "takeback", "config.toml")
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text("hook_seconds = 60\n")  # nothing is late, however busy the machine is
        self.second = SecondLook(place, workspace)
        self.number = 0
        self.asked = ""
        self.watched = 0
        self.compared = 0

    def ask(self) -> None:
        """Begins a turn; the standby may have the files watched afterwards."""
        self.asked = str(self.turn + 1)
        self.call(self.event())  # which may have a note for the model

    def stop(self) -> None:
        self.call(self.event(event="turn_end", turn=self.asked, prompt=None))

    def payload(self) -> bytes:
        self.number += 1
        return self.event(event="round_end", prompt=None, turn=self.asked, tools=[self.tool()])

    def tool(self) -> dict[str, Any]:
        return {"name": f"T{self.number}", "kind": "shell", "paths": []}

    def round(self) -> Checkpoint:
        """Ends a round, which must have just what the second look has."""
        self.call(self.payload())
        made = self.newest()
        assert made is not None
        assert made.tools[0].name == f"T{self.number}"
        self.compare(made)
        return made

    def compare(self, made: Checkpoint) -> None:
        self.compared += 1
        self.watched += made.watched
        assert made.snapshot == self.second.snapshot(), (self.number, made.watched)

    def newest(self) -> Checkpoint | None:
        environ = {**self.environ, "TAKEBACK_HOME": str(self.home)}
        location = locate(os.fsencode(self.workspace), environ, foreign_owner=False)
        store = open_store(location, environ, SilentReporter(), create=False)
        try:
            return newest_checkpoint(store, session_id("mine", "s"))
        finally:
            store.close()

    def until_watched(self) -> None:
        """Begins turns until a round relies on a watch."""

        def relies() -> bool:
            self.ask()
            (self.workspace / "touched").write_text(str(self.number))
            self.round()
            (self.workspace / "touched").write_text(f"{self.number} again")
            return self.round().watched

        wait_for(relies)

    def misses(self) -> list[bytes]:
        """Returns what looks at everything have said of the watch: looks, rounds, misses, last."""
        found = list((self.home / "workspaces").glob("*/*/watched"))
        return found[0].read_bytes().split(b" ", 3) if found else [b"0", b"0", b"0", b""]

    def end(self) -> None:
        super().end()
        self.second.close()
