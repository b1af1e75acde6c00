"""Names that lead elsewhere, in every place where a request has a name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from takeback.serve.routes import ENDPOINTS
from tests.serve.served import InProcess
from tests.support.host import Host
from tests.support.trees import tree_state

HOSTILE = (
    "../../../../etc/passwd",
    "..",
    "/etc/passwd",
    "refs/heads/../../x",
    "--upload-pack=id",
    "a\r\nSet-Cookie: x=y",
    "@{-1}",
    ":(glob)**",
    "x" * 1024,
)


def test_no_name_leads_outside(host: Host, served: InProcess, tmp_path: Path) -> None:
    one = served.workspace
    served.post(f"{one}/plan", {"target": "turn:2", "scope": "files"}).ok()
    before = tree_state(host.cli.directory), sorted(tmp_path.iterdir())
    for endpoint in ENDPOINTS:
        if endpoint.name in ("events", "openapi", "workspaces", "enter"):
            continue
        path = endpoint.path.replace("/workspaces/{workspace}", one)
        names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
        for word in HOSTILE:
            known = {name: "0" if name == "number" else "turn:2" for name in names}
            for name in ("", *names):
                at = path
                for own, value in {**known, **({name: word} if name else {})}.items():
                    at = at.replace(f"{{{own}}}", quote(value, safe=""))
                query = {p.name: word for p in endpoint.query if p.schema["type"] == "string"}
                check(served, endpoint.method, at, query if not name else {}, None)
            if endpoint.body is not None:
                for field, schema in endpoint.body["properties"].items():
                    body: dict[str, object] = {
                        "target": "turn:2",
                        "scope": "files",
                        field: filled(schema, word),
                    }
                    known_fields = endpoint.body["properties"]
                    sent = {k: v for k, v in body.items() if k in known_fields}
                    check(served, endpoint.method, path, {}, sent)
    assert (tree_state(host.cli.directory), sorted(tmp_path.iterdir())) == before


def filled(schema: Any, word: str) -> object:
    """Returns a value of a field that has the word wherever words are."""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if "string" in kinds:
        return word
    if "array" in kinds:
        return [filled(schema["items"], word)]
    if "object" in kinds:
        return {word: filled(schema.get("additionalProperties") or {"type": "null"}, word)}
    return {"boolean": True, "integer": 1}.get(kinds[0])


def check(served: InProcess, method: str, path: str, query: dict[str, str], body: object) -> None:
    target = f"/api/v1{path}" + (f"?{urlencode(query)}" if query else "")
    headers = {**served.headers(), "Content-Type": "application/json"}
    data = b"" if body is None else json.dumps(body).encode()
    reply = served.ask(method, target, data, headers)
    assert reply.status < 500, (method, target, data, reply)
    assert b"root:x:0:0" not in reply.body, (method, target, data)
    assert not any("\n" in value for value in reply.headers.values())
    assert "set-cookie" not in reply.headers
