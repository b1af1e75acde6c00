"""Takes out of an answer what is new in each run, so that transcripts can be compared."""

from __future__ import annotations

import os
import re

# The alphabet of ids has no i, l, o and u: no word of the texts has twelve letters of it.
_ID = re.compile(r"\b[a-hjkmnp-tv-z][a-hjkmnp-tv-z2-9]{11}\b")


def settled(text: str, **names: str) -> str:
    """Replaces given ids by their names, other ids, places, sizes and seconds by a fixed word."""
    for name, value in names.items():
        text = text.replace(value, name.upper())
    text = text.replace(os.environ["TAKEBACK_HOME"], "$TAKEBACK_HOME")
    text = re.sub(r"workspace-[0-9a-f]{16}/[0-9a-f]+-[0-9a-f]+", "STORE", text)
    text = re.sub(r"\d+\.\d KB", "N KB", text)
    text = re.sub(r"(?:  \d| \d\d)s(?=  )", " now", text)  # however slow the machine is
    text = re.sub(r"\b\d\d?s ago", "now", text)
    text = re.sub(r"\b\d\d:\d\d\b", "HH:MM", text)
    return _ID.sub("ID", text)
