"""The OpenAPI document, made from the table of endpoints; docs/openapi.json is a copy of it."""

from __future__ import annotations

import re

from takeback.model.schemas import NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from takeback.model.schemas import Schema
    from takeback.serve.protocol import Endpoint, Parameter

    Document = dict[str, Any]

WORKSPACE: Schema = {"type": "string", "pattern": "^[0-9a-f]{16}$"}
ENTRY: Schema = {"type": "integer", "minimum": 0, "maximum": 10_000_000}
IN_PATH: dict[str, Schema] = {"workspace": WORKSPACE, "checkpoint": NAME, "number": ENTRY}
"""What stands in paths."""
_MEANS = {
    400: "A parameter, a field or the body is not as described here.",
    401: "The secret is missing or wrong; no body.",
    403: "A page of another origin asks.",
    404: "There is no such workspace, checkpoint, session or file.",
    405: "The path is there, but not with this method.",
    408: "The request took too long.",
    409: "Refused: `code` and `message` say why, `flag` what overrides it, if anything does.",
    410: "The files of that checkpoint have expired.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    421: "The Host is not that of the server.",
    423: "Another process is at work in the workspace.",
    429: "Too many wrong secrets within a minute; no body.",
    431: "The headers are too large.",
    500: "A failure on this side; code `bug` where it is one.",
    503: "Too many streams or workspaces, or git is not there.",
}
_ALL = (400, 401, 403, 404, 408, 421, 429, 431, 500, 503)
_WITH_BODY = (413, 415)
_IN_WORKSPACE = (409, 410, 423)


def document(endpoints: Iterable[Endpoint]) -> Document:
    """Returns the OpenAPI document of the endpoints."""
    paths: Document = {}
    for one in endpoints:
        paths.setdefault(f"/api/v1{one.path}", {})[one.method.lower()] = _operation(one)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "takeback",
            "version": "1",
            "description": "Takes back any turn of a coding agent. docs/server.md has the prose, "
            "docs/scripting.md the fields of each document.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {"secret": {"type": "http", "scheme": "bearer"}},
            "schemas": {"error": _ERROR},
        },
        "security": [{"secret": []}],
    }


_ERROR: Schema = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "hint", "flag"],
            "properties": {
                name: {"type": "string"} for name in ("code", "message", "hint", "flag")
            },
        }
    },
}


def _operation(one: Endpoint) -> Document:
    names = re.findall(r"{(\w+)}", one.path)
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": IN_PATH[name]} for name in names
    ]
    made: Document = {
        "operationId": one.name,
        "summary": one.about,
        "parameters": [*parameters, *(_query(parameter) for parameter in one.query)],
        "responses": {
            "200": {"description": "Done.", "content": {one.media: {"schema": one.answer}}},
            **{str(status): _failure(status) for status in _statuses(one, names)},
        },
    }
    if one.body is not None:
        content = {"application/json": {"schema": one.body}}
        made["requestBody"] = {"required": True, "content": content}
    if one.open:
        made["security"] = []
    return made


def _statuses(one: Endpoint, names: list[str]) -> list[int]:
    found = {*_ALL, *one.errors}
    found |= set(_WITH_BODY) if one.body is not None else set()
    found |= set(_IN_WORKSPACE) if "workspace" in names else set()
    return sorted(found)


def _query(parameter: Parameter) -> Document:
    return {
        "name": parameter.name,
        "in": "query",
        "required": False,
        "description": parameter.about,
        "schema": parameter.schema,
    }


def _failure(status: int) -> Document:
    made: Document = {"description": _MEANS[status]}
    if status not in (401, 429):
        schema = {"$ref": "#/components/schemas/error"}
        made["content"] = {"application/json": {"schema": schema}}
    return made
