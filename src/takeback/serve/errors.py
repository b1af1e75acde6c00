"""Errors as answers: each has a status, and a body with code, message, hint and flag."""

from __future__ import annotations

from starlette.responses import Response

from takeback import errors
from takeback.errors import TakebackError
from takeback.model import json_text
from takeback.words import errors as wording

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Document = dict[str, Any]

_STATUS: tuple[tuple[type[TakebackError], int], ...] = (
    (errors.UsageError, 400),
    (errors.NotAWorkspace, 404),
    (errors.Expired, 410),
    (errors.NoSuchCheckpoint, 404),
    (errors.Refused, 409),
    (errors.RecoveredInstead, 409),
    (errors.InUse, 423),
    (errors.GitUnusable, 503),
    (errors.TimedOut, 503),
)
"""The first that fits; what is not here is a failure of the server's side: 500."""


class Rejected(TakebackError):
    """A request that is not answered as such; ``status`` says why, as HTTP has it."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        hint: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.code = code
        self.headers = headers or {}


def bad_request(message: str) -> Rejected:
    """Returns the rejection of a request that does not fit its schema."""
    return Rejected(400, "bad_request", message)


def no_such(what: str) -> Rejected:
    return Rejected(404, "no_such", what)


def status_of(error: TakebackError) -> int:
    if isinstance(error, Rejected):
        return error.status
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def document(error: TakebackError) -> Document:
    """Returns the body that tells of an error: no traceback, and nothing of a bug's own words."""
    if isinstance(error, errors.Bug):
        said: Document = {
            "code": error.code,
            "message": "This is a bug in takeback.",
            "hint": error.hint,
            "actions": [],
        }
    else:
        said = wording.document(wording.said(error))
        del said["exit"]  # this is no process
    return {"error": {"flag": "", **said}}


def response(error: TakebackError) -> Response:
    """Returns the answer that tells of an error."""
    headers = dict(error.headers) if isinstance(error, Rejected) else {}
    return json_answer(document(error), status_of(error), headers)


def json_answer(
    fields: Document, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Returns a document as an answer, in ASCII: bytes that are not UTF-8 stay escaped."""
    text = json_text.dumps(fields).encode()
    return Response(text, status, dict(headers or {}), media_type="application/json")
