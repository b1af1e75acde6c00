"""Server: what all requests of one run share."""

from __future__ import annotations

import secrets

from takeback.app.agreements import Agreements
from takeback.model.value import Value
from takeback.serve.feed import Feed
from takeback.serve.open_workspaces import OpenWorkspaces
from takeback.serve.presence import Presence
from takeback.serve.secrets import Secrets
from takeback.serve.settings import ServerSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Server(Value):
    """The parts of one running server. ``authority`` is its name as clients have to say it.

    A nonce belongs to one plan of one workspace, is good once, and not for long.
    """

    settings: ServerSettings
    secrets: Secrets
    workspaces: OpenWorkspaces
    nonces: Agreements
    feed: Feed
    presence: Presence
    authority: str
    origin: str | None
    """None where no page can be: on a Unix socket."""


def new_server(
    settings: ServerSettings, authority: str, origin: str | None, clock: Callable[[], float]
) -> Server:
    """Returns a server with a secret of its own, and nothing open yet."""
    return Server(
        settings,
        Secrets(settings, clock),
        OpenWorkspaces(settings),
        Agreements(settings.nonces, _nonce, seconds=settings.nonce_seconds, clock=clock),
        Feed(settings),
        Presence(),
        authority,
        origin,
    )


def _nonce() -> str:
    return secrets.token_urlsafe(24)
