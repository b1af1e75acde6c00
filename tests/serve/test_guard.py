"""The guard: who may ask, and what each answer carries."""

from __future__ import annotations

from tests.serve.served import AUTHORITY, V1, InProcess


def test_only_the_right_host_origin_site_and_secret_come_in(served: InProcess) -> None:
    right = served.headers()
    page = {"Host": AUTHORITY}
    navigation = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    cases: list[tuple[str, str, dict[str, str], int]] = [
        ("GET", f"{V1}/workspaces", right, 200),
        ("GET", f"{V1}/workspaces", page, 401),
        ("GET", f"{V1}/workspaces", {**page, "Authorization": "Bearer wrong"}, 401),
        ("GET", f"{V1}/workspaces", {**page, "Authorization": "Basic x"}, 401),
        ("GET", f"{V1}/nothing", page, 401),
        ("GET", f"{V1}/workspaces", {**right, "Host": "localhost:8123"}, 421),
        ("GET", "/", {"Host": "127.0.0.1"}, 421),
        ("GET", "/", {}, 421),
        ("GET", f"{V1}/workspaces", {**right, "Origin": f"http://{AUTHORITY}"}, 200),
        ("GET", f"{V1}/workspaces", {**right, "Origin": "http://127.0.0.1:8124"}, 403),
        ("GET", f"{V1}/workspaces", {**right, "Origin": "null"}, 403),
        ("GET", f"{V1}/workspaces", {**right, "Sec-Fetch-Site": "same-origin"}, 200),
        ("GET", f"{V1}/workspaces", {**right, "Sec-Fetch-Site": "same-site"}, 403),
        ("GET", f"{V1}/workspaces", {**right, "Sec-Fetch-Site": "none"}, 403),
        ("GET", "/", page, 200),
        ("GET", "/", {**page, "Sec-Fetch-Site": "none"}, 200),
        ("GET", "/", {**page, "Sec-Fetch-Site": "cross-site"}, 403),
        ("GET", "/", {**page, "Sec-Fetch-Site": "cross-site", **navigation}, 200),
        ("GET", "/static/x.js", {**page, "Sec-Fetch-Site": "cross-site", **navigation}, 403),
        ("GET", "/static/../run.py", page, 404),
        ("POST", f"{V1}/challenge", page, 415),
        ("POST", f"{V1}/challenge", {**page, "Content-Type": "text/plain"}, 415),
        ("POST", f"{V1}/challenge", {**page, "Content-Type": "application/json"}, 400),
        ("GET", "/", {**page, "X-Long": "x" * (65 << 10)}, 431),
        ("GET", "/", {**page, "Content-Length": str(2 << 20)}, 413),
    ]
    for method, target, headers, status in cases:
        reply = served.ask(method, target, headers=headers)
        assert reply.status == status, (method, target, headers, reply)
        assert "default-src 'none'" in reply.headers["content-security-policy"]
        assert reply.headers["cache-control"] == "no-store"
        assert not any(name.startswith("access-control") for name in reply.headers)
        if status == 401:
            assert reply.body == b""
    assert "secret" not in "".join(served.log)
    assert set(served.log) >= {"GET / 200", f"GET {V1}/workspaces 200", "GET - 401"}


def test_ten_wrong_secrets_a_minute_and_then_none(served: InProcess) -> None:
    wrong = {"Host": AUTHORITY, "Authorization": "Bearer x"}
    seen = [served.ask("GET", f"{V1}/workspaces", headers=wrong).status for _ in range(12)]
    assert seen == [401] * 10 + [429] * 2
    assert served.get("/workspaces").status == 200, "the right one is not locked out"
    served.now += 61
    assert served.ask("GET", f"{V1}/workspaces", headers=wrong).status == 401


def test_bodies_are_json_of_a_bounded_size_and_depth(served: InProcess) -> None:
    headers = {**served.headers(), "Content-Type": "application/json; charset=utf-8"}
    for body, status in (
        (b'{"nonce": "0123456789abcdef"}', 200),
        (b'{"nonce": "short"}', 400),
        (b'{"nonce": 5}', 400),
        (b'{"nonce": "0123456789abcdef", "more": 1}', 400),
        (b'{"nonce": "0123456789abcde\\ud800"}', 400),
        (b"[]", 400),
        (b"", 400),
        (b"\xff", 400),
        (b"NaN", 400),
        (b"[" * 65 + b"]" * 65, 400),
        (b"[" * 200_000, 400),
        (b" " * ((1 << 20) + 1), 413),
    ):
        assert served.ask("POST", f"{V1}/challenge", body, headers).status == status, body[:60]
