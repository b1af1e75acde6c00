"""What a person looks at before, or after, a change: path by path."""

from __future__ import annotations

from takeback.model.change import Change, CountedChange
from takeback.model.value import Value


class ReviewedChange(Value):
    """One changed path: what it is on both sides, and the lines that were counted."""

    change: Change
    counted: CountedChange
    tickable: bool = False
    """Its hunks can be ticked: it is a change that a rewind would make, of a file in a snapshot."""
