"""Proposals that an extension's person considers: what a request asks to be planned or done."""

from __future__ import annotations

from takeback.app import proposal as proposals
from takeback.errors import UsageError
from takeback.stdio import requests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from takeback.app.engine import Engine
    from takeback.app.proposal import Proposal
    from takeback.model.ids import SessionId

    Document = dict[str, Any]


def rewind(tb: Engine, request: Document) -> Proposal:
    """Returns the rewind to a ``checkpoint``, with what it keeps."""
    name = requests.needed(request, "checkpoint")
    scope, keeping = requests.scope(request), requests.keeping(request)
    return proposals.rewind_to(tb, name, scope=scope, keeping=keeping)


def revert(tb: Engine, request: Document, session: SessionId | None) -> Proposal:
    """Returns the revert of some ``turns``, named as on the command line."""
    names = request.get("turns")
    if not isinstance(names, list) or not names:
        raise UsageError("turns are the names of those to revert")
    turns = [tb.turn(str(name), session=session) for name in names]
    return proposals.revert(turns, choices=requests.choices(request))


def fork(tb: Engine, request: Document) -> Proposal:
    """Returns the fork from a ``checkpoint``, with or without its ``files``."""
    name = requests.needed(request, "checkpoint")
    found = proposals.fork(tb.find(name), files=request.get("files") is True)
    return found.replace(whose=tb.taken(name))
