"""Every file of a store, and whether it may hold something of the workspace's files.

A purge goes by this table: what is derived goes and is made anew, what is plain never quotes a
file, and everything else is searched and removed if it quotes the secret. Whatever is not here,
such as what a killed process left behind, is searched too.
"""

from __future__ import annotations

OBJECTS = ("store.git",)
"""Written anew, and searched object by object."""
DERIVED = (
    "ledger.db",
    "ledger.db-wal",
    "ledger.db-shm",
    "ledger.db-journal",
    "stat",
    "settings.compiled",
    "heaviest",
)
"""Made anew from the rest when it is missing, or left by a deletion that was interrupted."""
PLAIN = (
    "format",
    "workspace.json",
    "seen",
    "swept",
    "floor",
    "trust",
    "trust.new",
    "damaged",
    "epoch",
    "garbage",
    "sequence",
    "turns",
    "lock",
    "maintenance.lock",
    "sweep.lock",
    "maintenance.failed",
    "purge",
    "purged",
    "purged.new",
    "bisect.lock",
)
"""Names, numbers and hashes of takeback's own."""
OF_THE_USER = ("config.toml",)
"""Never removed: if it quotes the secret, that is said."""
SEARCHED = (
    "pending",
    "parcels",
    "journal",
    "told",
    "log",
    "log.seen",
    "bisect.json",
    "verdicts.json",
    "watched",
)
"""Removed if it quotes the secret."""
KNOWN = frozenset((*OBJECTS, *DERIVED, *PLAIN, *OF_THE_USER, *SEARCHED))

SEARCHED_AT_HOME = ("log", "bugs.log", "connected")
"""The same in the directory of all stores: the failures of hooks, where bugs happened, and what
`init` kept of the settings of agents as they were."""
