"""McpServer: answers the requests of one client."""

from __future__ import annotations

from takeback._version import __version__
from takeback.app.border import bug
from takeback.app.engine import Engine
from takeback.app.threads import PolledReporter
from takeback.errors import TakebackError
from takeback.mcp.tools import TOOLS, Tool
from takeback.model import json_text, schemas
from takeback.words import choices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Document = dict[str, Any]

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The versions of the protocol that are spoken, newest first; they differ in nothing used here."""
_ABOUT = (
    "takeback keeps the exact state of the files here before and after each turn of a coding "
    "agent. These tools look at that, and make a checkpoint. Going back is for the person, with "
    "`takeback rewind` or the picker: suggest it, naming the checkpoint."
)
_NOT_JSON, _NO_REQUEST, _NO_METHOD, _NO_SUCH = -32700, -32600, -32601, -32602


class _Failed(Exception):
    """A request that is answered with an error of the protocol."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class McpServer:
    """Answers one client, opening the workspace afresh for each call of a tool."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def answer(self, line: bytes) -> str:
        """Returns the answer to a line; empty if none is due."""
        try:
            asked = json_text.loads(line.decode("utf-8", "surrogateescape"))
        except ValueError as error:
            return json_text.dumps(_error(None, _NOT_JSON, str(error)))
        if isinstance(asked, list) and asked:  # a batch, which one version of the protocol has
            answers = [answer for one in asked if (answer := self._answer(one)) is not None]
            return json_text.dumps(answers) if answers else ""
        answer = self._answer(asked)
        return "" if answer is None else json_text.dumps(answer)

    def too_long(self) -> str:
        """Returns the answer to a line that was not read to its end."""
        return json_text.dumps(_error(None, _NO_REQUEST, "the request is too long"))

    def _answer(self, asked: object) -> Document | None:
        if not isinstance(asked, dict):
            return _error(None, _NO_REQUEST, "a request is a JSON object")
        if "id" not in asked or "method" not in asked:
            return None  # it only tells something, or answers: nothing was asked of it
        params = asked.get("params")
        try:
            result = self._result(asked["method"], params if isinstance(params, dict) else {})
        except _Failed as failed:
            return _error(asked["id"], failed.code, str(failed))
        return {"jsonrpc": "2.0", "id": asked["id"], "result": result}

    def _result(self, method: object, params: Document) -> Document:
        if method == "initialize":
            wanted = params.get("protocolVersion")
            return {
                "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "takeback", "version": __version__},
                "instructions": _ABOUT,
            }
        if method == "ping":
            return {}
        if method == "tools/list":
            return {"tools": [tool.document for tool in TOOLS]}
        if method == "tools/call":
            return self._call(params)
        raise _Failed(_NO_METHOD, f"there is no method {str(method)[:80]!r}")

    def _call(self, params: Document) -> Document:
        name, given = params.get("name"), params.get("arguments") or {}
        tool = next((one for one in TOOLS if one.name == name), None)
        if tool is None:
            names = ", ".join(one.name for one in TOOLS)
            raise _Failed(_NO_SUCH, f"there is no tool {str(name)[:80]!r}; there are: {names}")
        try:
            schemas.check(given, tool.schema, "arguments")
            return _said(self._done(tool, given))
        except schemas.Unfit as error:
            return _said(str(error), failed=True)
        except TakebackError as error:
            told = choices.said(error)
            return _said("\n".join(part for part in (told.message, told.hint) if part), failed=True)
        except Exception as error:  # a bug of ours must not end the agent's server
            return _said(bug(error).message, failed=True)

    def _done(self, tool: Tool, given: Document) -> str:
        reporter = PolledReporter()
        with Engine.open(
            self._directory,
            create=tool.adds,
            reporter=reporter,
            holder="mcp",
            bounded=True,
            by_model=True,
        ) as tb:
            answer = tool.answer(tb, given)
        return "\n".join([answer, *(f"[{note}]" for note in reporter.take_notes())])


def _said(text: str, *, failed: bool = False) -> Document:
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def _error(request: object, code: int, message: str) -> Document:
    return {"jsonrpc": "2.0", "id": request, "error": {"code": code, "message": message}}
