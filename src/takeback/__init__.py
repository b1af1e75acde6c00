"""takeback takes back any turn of a coding agent: the files, exactly, and that too."""

from __future__ import annotations

from takeback._version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.app import Takeback

__all__ = ["Takeback", "__version__"]


def __getattr__(name: str) -> object:
    """Imports ``Takeback`` on first use: hooks import this package and do without it."""
    if name == "Takeback":
        from takeback.app import Takeback

        return Takeback
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
