"""Endpoints: one thing that the API does, as data, and what one request asks of it."""

from __future__ import annotations

from takeback.gate import asker
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Any, TypeVar

    from starlette.responses import Response

    from takeback.app.engine import Engine
    from takeback.gate.peers import Connection
    from takeback.model.schemas import Schema
    from takeback.serve.server import Server

    Document = dict[str, Any]
    Handler = Callable[["Asked"], Awaitable[Document | Response]]
    Job = Callable[[Engine, "Asked"], Document | Response]
    T = TypeVar("T")


class Parameter(Value):
    """Something that stands in the query of a request, or in its path."""

    name: str
    schema: Schema
    about: str


class Asked(Value):
    """One request, checked: its parameters and fields are as the endpoint's schemas say."""

    server: Server
    parameters: Mapping[str, Any]
    body: Mapping[str, Any]
    last_event: str | None = None
    connection: Connection | None = None

    def text(self, name: str) -> str | None:
        """Returns a parameter that is text; None if it is not given."""
        found = self.parameters.get(name)
        return found if isinstance(found, str) else None

    def number(self, name: str, default: int) -> int:
        found = self.parameters.get(name, default)
        return found if isinstance(found, int) else default

    def flag(self, name: str) -> bool:
        return self.parameters.get(name) is True


class Endpoint(Value):
    """One line of the table: how it is called, what it takes, what it gives, who does it."""

    method: str
    path: str
    name: str
    about: str
    handler: Handler
    answer: Schema
    query: tuple[Parameter, ...] = ()
    body: Schema | None = None
    errors: tuple[int, ...] = ()
    """The statuses beside those that every endpoint may have."""
    media: str = "application/json"
    open: bool = False
    """Needs no secret."""


def in_workspace(job: Job) -> Handler:
    """Returns a handler that looks at the files of the request's workspace, in its turn."""

    async def handler(asked: Asked) -> Document | Response:
        return await asked.server.workspaces.ask(
            asked.parameters["workspace"], lambda tb: job(tb, asked)
        )

    return handler


def looking(job: Job) -> Handler:
    """Returns a handler that only looks at the workspace of the request, beside others."""
    return _looking(job, long=False)


def looking_long(job: Job) -> Handler:
    """Returns a handler that looks at much of it, such as a whole conversation."""
    return _looking(job, long=True)


def _looking(job: Job, *, long: bool) -> Handler:
    async def handler(asked: Asked) -> Document | Response:
        return await asked.server.workspaces.look(
            asked.parameters["workspace"], lambda tb: job(tb, asked), long=long
        )

    return handler


async def for_client(asked: Asked, job: Callable[[Engine], T]) -> T:
    """Runs a job with the workspace of the request, knowing who asks for it.

    That is looked up when the job begins: whoever has gone by then, or handed its connection on to
    a tool of a model, is not the person who is to have the answer.
    """
    return await asked.server.workspaces.change(
        asked.parameters["workspace"],
        lambda tb: tb.for_asker(asker.asker_of(asked.connection), job),
    )


async def for_person(asked: Asked, what: str, job: Callable[[Engine], T]) -> T:
    """Runs a job that changes something; raises Refused if a model asks inside its running turn.

    As ``serve`` itself, no part of this is for a model: it has the command line.
    """

    def checked(tb: Engine) -> T:
        tb.refuse_inside(what)
        return job(tb)

    return await for_client(asked, checked)
