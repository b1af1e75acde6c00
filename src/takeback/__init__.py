"""takeback takes back any turn of a coding agent: the files, exactly, and that too."""

# Nothing is imported before it is asked for, not even ``__future__``: hooks import this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback._version import __version__
    from takeback.app.api import Takeback
    from takeback.app.async_api import AsyncTakeback

__all__ = ["AsyncTakeback", "Takeback", "__version__"]


def __getattr__(name: str) -> object:
    """Imports what the package offers on first use."""
    if name == "Takeback":
        from takeback.app.api import Takeback

        return Takeback
    if name == "AsyncTakeback":
        from takeback.app.async_api import AsyncTakeback

        return AsyncTakeback
    if name == "__version__":
        from takeback._version import __version__

        return __version__
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
