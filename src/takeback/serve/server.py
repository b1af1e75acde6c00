"""Server: what all requests of one run share."""

from __future__ import annotations

from takeback.model.value import Value
from takeback.serve.open_workspaces import OpenWorkspaces
from takeback.serve.secrets import Secrets
from takeback.serve.settings import ServerSettings


class Server(Value):
    """The parts of one running server. ``authority`` is its name as clients have to say it."""

    settings: ServerSettings
    secrets: Secrets
    workspaces: OpenWorkspaces
    authority: str
    origin: str | None
    """None where no page can be: on a Unix socket."""
