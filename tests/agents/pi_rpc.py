"""Talks to pi over its RPC mode, as a program does that shows pi in a window of its own."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Queue
from types import TracebackType
from typing import Any

from tests.agents.pi import Pi

Document = dict[str, Any]
Reply = str | None | Callable[[], str | None]
_SECONDS = 60


class Rpc:
    """One running pi. A context manager; what it is asked is answered by ``answers`` in turn.

    An answer is the beginning of one of the options, or None to leave the question; or what
    gives one, after doing something else first.
    """

    def __init__(self, pi: Pi, *more: str) -> None:
        world = pi.world
        self._process = subprocess.Popen(
            pi.command("--mode", "rpc", *more),
            cwd=world.repo,
            env=world.environment(pi.env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._heard: Queue[Document | None] = Queue()
        self._number = 0
        self.answers: list[Reply] = []
        self.questions: list[Document] = []
        self.notices: list[str] = []
        self.footers: list[str | None] = []
        self.editor: str | None = None
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Rpc:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            assert self._process.wait(_SECONDS) == 0
        finally:
            if self._process.poll() is None:
                self._process.kill()
            self._reader.join(_SECONDS)
            self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._heard.put(json.loads(line))
        self._heard.put(None)

    def _send(self, document: Document) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(document).encode() + b"\n")
        self._process.stdin.flush()

    def until(self, wanted: Callable[[Document], bool]) -> Document:
        """Listens, answering questions, until something is heard."""
        while True:
            heard = self._heard.get(timeout=_SECONDS)
            assert heard is not None, "pi has ended"
            if heard["type"] == "extension_ui_request":
                self._asked(heard)
            if wanted(heard):
                return heard

    def _asked(self, request: Document) -> None:
        method = request["method"]
        if method == "notify":
            self.notices.append(request["message"])
        elif method == "setStatus" and request["statusKey"] == "takeback":
            self.footers.append(request.get("statusText"))
        elif method == "set_editor_text":
            self.editor = request["text"]
        elif method in ("select", "input"):
            self.questions.append(request)
            assert self.answers, f"an unexpected question: {request}"
            self._send(
                {"type": "extension_ui_response", "id": request["id"], **self._pick(request)}
            )

    def _pick(self, request: Document) -> Document:
        answer = self.answers.pop(0)
        if callable(answer):
            answer = answer()
        if answer is None:
            return {"cancelled": True}
        if request["method"] == "input":
            return {"value": answer}
        found = [option for option in request["options"] if option.startswith(answer)]
        assert found, f"there is no {answer!r}: {request}"
        return {"value": found[0]}

    def call(self, kind: str, **fields: Any) -> Document:
        """Sends a command and returns its data."""
        self._number += 1
        name = f"c{self._number}"
        self._send({"type": kind, "id": name, **fields})
        answer = self.until(lambda heard: heard["type"] == "response" and heard.get("id") == name)
        assert answer["success"], answer
        data = answer.get("data")
        return data if isinstance(data, dict) else {}

    def prompt(self, text: str) -> None:
        """Sends a prompt and waits until pi has settled."""
        self.call("prompt", message=text)
        self.until(lambda heard: heard["type"] == "agent_settled")

    def abort(self) -> None:
        """Stops the turn, as Esc does, and waits until pi has settled."""
        self._send({"type": "abort"})
        self.until(lambda heard: heard["type"] == "agent_settled")

    def command(self, text: str, *answers: Reply) -> None:
        """Types a command; its questions are answered."""
        self.answers += answers
        self.call("prompt", message=text)
        assert self.answers == [], f"not asked: {self.answers}; said: {self.notices}"

    def fork(self, prompt: str, *answers: Reply) -> bool:
        """Forks before a prompt; tells whether pi did it."""
        self.answers += answers
        data = self.call("fork", entryId=self.entry(prompt))
        assert self.answers == [], f"not asked: {self.answers}; said: {self.notices}"
        return data["cancelled"] is False

    def tree(self, entry: str, *answers: Reply) -> None:
        """Navigates to an entry, by the command of ``EXTENSION``: RPC has none for it."""
        self.command(f"/goto {entry}", *answers)

    @property
    def file(self) -> Path:
        return Path(self.call("get_state")["sessionFile"])

    def entries(self) -> list[Document]:
        found = self.call("get_entries")["entries"]
        assert isinstance(found, list)
        return found

    def entry(self, text: str, role: str = "user") -> str:
        """Returns the id of the newest message of a role that holds a text."""
        for one in reversed(self.entries()):
            message = one.get("message", {})
            if message.get("role") == role and text in json.dumps(message.get("content")):
                return str(one["id"])
        raise AssertionError(f"no {role} entry says {text!r}")

    def titles(self) -> list[str]:
        return [question["title"] for question in self.questions]

    def options(self) -> Sequence[str]:
        """Returns the options of the newest question."""
        found = self.questions[-1]["options"]
        assert isinstance(found, list)
        return found


EXTENSION = """
export default function (pi) {
  pi.registerCommand("goto", {
    description: "navigate in the tree",
    handler: async (args, ctx) => {
      const [id, summarize] = args.split(" ");
      const result = await ctx.navigateTree(id, { summarize: summarize === "summarize" });
      ctx.ui.notify(result.cancelled ? "navigation cancelled" : "navigated");
    },
  });
  pi.registerCommand("mark", {
    description: "label an entry",
    handler: async (args) => {
      const [id, label] = args.split(" ");
      pi.setLabel(id, label);
    },
  });
}
"""
"""Gives RPC what the screen has: /tree, and a label for an entry."""
