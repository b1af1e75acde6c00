"""How a page comes in: with a code that is good once, and how it makes sure whom it speaks to."""

from __future__ import annotations

from takeback.serve.endpoint import Asked
from takeback.serve.guard import wrong_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Document = dict[str, Any]


async def enter(asked: Asked) -> Document:
    """Gives the secret for a code."""
    server = asked.server
    secret = server.secrets.redeem(asked.body["code"])
    if secret is None:
        raise wrong_secret(server)
    return {"secret": secret}


async def challenge(asked: Asked) -> Document:
    """Proves that this is still the server that gave out the secret."""
    return {"proof": asked.server.secrets.proof(asked.body["nonce"])}
