"""Clients of the server that read as a page does, and those that listen."""

from __future__ import annotations

import json
import random
import threading
import time
from dataclasses import dataclass, field
from http.client import HTTPConnection
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

_OFTEN = {"turns": 30, "checkpoint": 20, "diff": 20, "messages": 20, "search": 4} | {
    "sessions": 3,
    "status": 2,
    "tree": 1,
}
"""How often a client asks each of its questions, of a hundred."""
_WORDS = ("login", "parser", "module", "build", "scroll")
_EXPIRED = 410
"""What is answered of a checkpoint that lost its files a moment ago."""
_PAGE = 100
"""How many messages the page asks for at once."""


@dataclass
class Place:
    """Where the server is, what to say to it, and what there is to ask for."""

    port: int
    secret: str
    workspace: str = ""
    ids: list[str] = field(default_factory=list)
    session: str = ""
    messages: int = 0

    @classmethod
    def told(cls, said: dict[str, Any]) -> Place:
        """Finds out what is there, of a server that said this when it began."""
        port = urlsplit(said["url"]).port
        assert port is not None
        place = cls(port, Path(said["secret_file"]).read_text().strip())
        asking = Asking(place)
        [one] = asking.ask("/workspaces")["workspaces"]
        place.workspace = f"/workspaces/{one['id']}"
        page = asking.ask(f"{place.workspace}/turns?limit=500")
        place.ids = [turn["id"] for turn in page["turns"]]
        while page["next"] is not None:
            page = asking.ask(f"{place.workspace}/turns?limit=500&before={page['next']}")
            place.ids += [turn["id"] for turn in page["turns"]]
        place.messages = asking.ask(place.target("messages", random.Random(0)))["total"]
        return place

    def target(self, kind: str, chance: random.Random) -> str:
        """Returns what is asked for: mostly something else each time."""
        id = chance.choice(self.ids)
        offset = chance.randrange(0, self.messages + 1, _PAGE)
        below = {
            "turns": f"/turns?limit=50&before={id}",
            "checkpoint": f"/checkpoints/{id}",
            "diff": f"/checkpoints/{id}/diff",
            "messages": f"/checkpoints/{self.ids[0]}/messages?offset={offset}&limit={_PAGE}",
            "search": f"/search?q={chance.choice(_WORDS)}&limit=50",
        }
        return f"{self.workspace}{below.get(kind, f'/{kind}')}"


class Asking:
    """One connection on which questions are asked, and how long each answer took."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._connection = self._new()
        self.spent: dict[str, list[float]] = {}
        self.failed: list[str] = []

    def _new(self) -> HTTPConnection:
        return HTTPConnection("127.0.0.1", self._place.port, timeout=120)

    def ask(self, target: str) -> Any:
        headers = {"Authorization": f"Bearer {self._place.secret}"}
        try:
            self._connection.request("GET", f"/api/v1{target}", headers=headers)
            answer = self._connection.getresponse()
            data = answer.read()
        except OSError as error:
            self.failed.append(f"{type(error).__name__} {target}")
            self._connection.close()
            self._connection = self._new()
            return {}
        if answer.status not in (200, _EXPIRED):
            self.failed.append(f"{answer.status} {target}")
        return json.loads(data)

    def timed(self, kind: str, chance: random.Random) -> None:
        target = self._place.target(kind, chance)
        began = time.perf_counter()
        self.ask(target)
        self.spent.setdefault(kind, []).append(time.perf_counter() - began)


class Readers:
    """Many clients at once, each on a connection of its own, like people who look around."""

    def __init__(self, place: Place, number: int) -> None:
        self._over = threading.Event()
        self._askings = [Asking(place) for _ in range(number)]
        self._threads = [
            threading.Thread(target=self._read, args=(asking, seed))
            for seed, asking in enumerate(self._askings)
        ]

    def _read(self, asking: Asking, seed: int) -> None:
        chance = random.Random(seed)
        kinds, often = list(_OFTEN), list(_OFTEN.values())
        self._over.wait(chance.uniform(0, 1.0))
        while not self._over.is_set():
            asking.timed(chance.choices(kinds, often)[0], chance)
            self._over.wait(chance.uniform(0.5, 1.5))  # a person looks at it

    def __enter__(self) -> Readers:
        for one in self._threads:
            one.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        for one in self._threads:
            one.join()

    @property
    def spent(self) -> dict[str, list[float]]:
        found: dict[str, list[float]] = {}
        for asking in self._askings:
            for kind, some in asking.spent.items():
                found.setdefault(kind, []).extend(some)
        return found

    @property
    def failed(self) -> list[str]:
        return [one for asking in self._askings for one in asking.failed]


class Listener:
    """One that hears the events, each with its id."""

    def __init__(self, place: Place) -> None:
        self.ids: list[str] = []
        self.turns: list[tuple[str, str]] = []
        """What became of which turn, by its prompt, in the order in which it was told."""
        self._connection = HTTPConnection("127.0.0.1", place.port)
        id = place.workspace.rpartition("/")[2]
        headers = {"Authorization": f"Bearer {place.secret}"}
        self._connection.request("GET", f"/api/v1/events?workspace={id}", headers=headers)
        self._answer = self._connection.getresponse()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        event: dict[str, str] = {}
        while line := self._answer.readline().decode():
            name, _, value = line.rstrip("\r\n").partition(": ")
            if name:
                event[name] = value
                continue
            if "id" in event and event.get("event") not in (None, "progress"):
                self.ids.append(event["id"])
            if event.get("event") == "turn":
                data = json.loads(event["data"])
                self.turns.append((data["what"], data["turn"]["prompt"]))
            event = {}

    def wrong(self, expected: list[tuple[str, str]]) -> int:
        """Returns how many events were lost, told twice or out of order."""
        numbers = [int(id.rpartition("-")[2]) for id in self.ids]
        jumps = sum(b != a + 1 for a, b in pairwise(numbers))
        if self.turns == expected:
            return jumps
        missing = len(expected) - len(set(expected) & set(self.turns))
        return jumps + max(missing, abs(len(self.turns) - len(expected)), 1)
