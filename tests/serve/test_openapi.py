"""The OpenAPI document: what schemathesis makes of it is answered, and never with a failure."""

from __future__ import annotations

import json
import os
from typing import Any
from urllib.parse import quote, urlencode

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode

from takeback.serve.openapi import document
from takeback.serve.routes import ENDPOINTS
from tests.serve.served import InProcess
from tests.support.host import Host

STREAMS = ("events",)
"""What does not end by itself; tests/serve/test_events.py asks for it."""


def operations() -> list[Any]:
    schema = schemathesis.openapi.from_dict(document(ENDPOINTS))
    found: list[Any] = [one.ok() for one in schema.get_all_operations()]  # type: ignore[union-attr]
    return [one for one in found if one.definition.raw["operationId"] not in STREAMS]


def send(served: InProcess, case: Any, workspace: str) -> None:
    """Sends a case, to the workspace that there is and to the one that the case names."""
    own = dict(case.path_parameters or {})
    for named in [workspace, own["workspace"]] if "workspace" in own else [""]:
        path = case.path
        for name, value in {**own, "workspace": named}.items():
            path = path.replace(f"{{{name}}}", quote(_text(value), safe=""))
        query = urlencode(_query(case.query or {}), errors="replace")
        body = _bytes(case.body)
        headers = {**served.headers(), "Content-Type": "application/json"}
        target = f"/api/v1{path.removeprefix('/api/v1')}"
        reply = served.ask(case.method, f"{target}?{query}" if query else target, body, headers)
        assert reply.status < 500, (case.method, target, query, body, reply)
        assert target.endswith("/enter") or reply.status not in (401, 429)
        if reply.headers.get("content-type") == "application/json":
            assert reply.json.keys() == {"error"} if reply.status >= 400 else reply.json


def _bytes(body: object) -> bytes:
    if isinstance(body, bytes) or type(body).__name__ == "NotSet":
        return body if isinstance(body, bytes) else b""
    return json.dumps(body, default=repr).encode()


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=repr)


def _query(given: dict[str, Any]) -> list[tuple[str, str]]:
    pairs = []
    for name, value in given.items():
        pairs += [(name, _text(one)) for one in (value if isinstance(value, list) else [value])]
    return [(name.encode(errors="replace").decode(), value) for name, value in pairs]


def run(served: InProcess, examples: int, asked: list[Any]) -> None:
    workspace = served.workspace.removeprefix("/workspaces/")
    for operation in asked:
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            bounds = settings(
                max_examples=examples,
                deadline=None,
                database=None,
                derandomize=True,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )

            @bounds
            @given(case=operation.as_strategy(generation_mode=mode))
            def ask(case: Any) -> None:
                send(served, case, workspace)

            ask()


def test_no_request_that_the_document_allows_or_forbids_fails(
    host: Host, served: InProcess
) -> None:
    run(served, 1, operations()[::4])  # each takes half a second to be thought of


@pytest.mark.long
def test_no_request_of_many_fails(host: Host, served: InProcess) -> None:
    run(served, 10, operations())


@pytest.mark.soak
def test_no_request_fails_however_many(host: Host, served: InProcess) -> None:
    run(served, int(os.environ.get("TAKEBACK_SOAK_REQUESTS", "300")), operations())
