"""Takes out of an answer what is new in each run, so that transcripts can be compared."""

from __future__ import annotations

import os
import re

_WORD = re.compile(r"\b[a-hjkmnp-tv-z][a-hjkmnp-tv-z2-9]{11}\b")


def settled(text: str, **names: str) -> str:
    """Replaces given ids and places by their names; other ids, sizes and times by a letter."""
    for name, value in names.items():
        text = text.replace(value, name.upper())
    text = text.replace(os.environ["TAKEBACK_HOME"], "$TAKEBACK_HOME")
    text = re.sub(r"workspace-[0-9a-f]{16}/[0-9a-f]+-[0-9a-f]+", "STORE", text)
    text = re.sub(r"\d+\.\d KB", "N KB", text)
    return _WORD.sub(lambda found: "ID" if _is_id(found[0]) else found[0], text)


def _is_id(word: str) -> bool:
    return any(c.isdigit() for c in word)
