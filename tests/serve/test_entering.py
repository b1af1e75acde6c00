"""How a page comes in: codes, and the proof of who answers."""

from __future__ import annotations

import hashlib
import hmac

from tests.serve.served import AUTHORITY, V1, InProcess


def enter(served: InProcess, code: str) -> int:
    headers = {"Host": AUTHORITY, "Content-Type": "application/json"}
    reply = served.ask("POST", f"{V1}/enter", b'{"code": "%s"}' % code.encode(), headers)
    if reply.status == 200:
        assert reply.json == {"secret": served.server.secrets.secret}
    else:
        assert reply.body == b""
    return reply.status


def test_a_code_is_good_once_and_for_a_minute(served: InProcess) -> None:
    code, late = served.server.secrets.new_code(60), served.server.secrets.new_code(60)
    assert [enter(served, code), enter(served, code)] == [200, 401]
    served.now += 61
    assert enter(served, late) == 401
    assert [enter(served, "x") for _ in range(10)] == [401] * 9 + [429]


def test_codes_that_nobody_used_do_not_pile_up(served: InProcess) -> None:
    secrets = served.server.secrets
    for _ in range(50):
        secrets.new_code(60)
    served.now += 61
    code = secrets.new_code(60)
    assert list(secrets._codes) == [code]
    assert enter(served, code) == 200


def test_a_challenge_proves_that_the_secret_is_known(served: InProcess) -> None:
    nonce = "0123456789abcdef"
    proof = hmac.new(
        served.server.secrets.secret.encode(),
        f"takeback challenge {nonce}".encode(),
        hashlib.sha256,
    ).hexdigest()
    assert served.post("/challenge", {"nonce": nonce}).ok() == {"proof": proof}
