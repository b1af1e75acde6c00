"""The limits of the server, in one table; docs/server.md has it for people."""

from __future__ import annotations

from takeback.model.value import Value


class ServerSettings(Value):
    """What the server grants its clients; sizes in bytes, times in seconds."""

    header_bytes: int = 64 << 10
    body_bytes: int = 1 << 20
    json_depth: int = 64
    streams: int = 20
    connections: int = 256
    patience: float = 30.0
    """How long a client may take to send a request, or to take an answer."""
    wrong_tries: int = 10
    """How many wrong secrets and codes are answered within a minute."""
    code_seconds: float = 60.0
    """How long the code is good that a browser is started with."""
    link_seconds: float = 600.0
    """How long that of a link is good, which a person copies, perhaps to another machine."""
    nonce_seconds: float = 300.0
    nonces: int = 100
    workspaces: int = 32
    idle_seconds: float = 60.0
    """How long a workspace that nobody asks about stays open."""
    readers: int = 4
    """How many questions about one workspace are answered at the same time."""
    all_readers: int = 16
    """How many about all of them, beside one for each."""
    events: int = 1000
    """How many events are kept for a client that comes back."""
    heartbeat: float = 15.0
    poll: float = 0.3
    """How often workspaces are looked at while somebody listens."""
    silent_seconds: float = 10.0
    """How long a server that is to end waits for work that does not move."""
    ending_seconds: float = 60.0
    """How long it waits for work that does."""
