"""The C parts of the standard library that a hook uses without the Python around them.

A hook starts Python for each event. ``import signal`` makes enums (3 ms), ``import json`` compiles
regular expressions (10 ms), ``os`` itself is not loaded yet when an event is handed over. The C
modules below them are enough, but their names are private and may change with any Python, so
nothing else in takeback imports them: each is looked up here on first use, and if it is missing its
public module takes its place.
"""

# Like ``handover``, which is loaded before anything else, this imports nothing.

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    import signal as signal
    import socket as socket
    from bisect import bisect_left as bisect_left
    from bisect import bisect_right as bisect_right
    from collections import OrderedDict as OrderedDict
    from collections.abc import Callable
    from operator import eq as eq
    from threading import RLock as RLock
    from typing import Any

    posix = os
    small_sha1: Callable[[], Any]
    fast_sha1: Callable[[], Any]
    json_string: Callable[[str], str]
    blake2b: Callable[..., Any]
    json_scanner: Callable[[Any], Callable[[str, int], tuple[Any, int]]] | None

_MODULE = ""
_NONE = ""

_FOUND_IN = {
    # name here: its private module and its name there; the public one and its name there
    "posix": ("posix", _MODULE, "os", _MODULE),
    "signal": ("_signal", _MODULE, "signal", _MODULE),
    "socket": ("_socket", _MODULE, "socket", _MODULE),
    "bisect_left": ("_bisect", "bisect_left", "bisect", "bisect_left"),
    "bisect_right": ("_bisect", "bisect_right", "bisect", "bisect_right"),
    "OrderedDict": ("_collections", "OrderedDict", "collections", "OrderedDict"),
    "eq": ("_operator", "eq", "operator", "eq"),
    "RLock": ("_thread", "RLock", "threading", "RLock"),
    "small_sha1": ("_sha1", "sha1", "hashlib", "sha1"),
    "blake2b": ("_blake2", "blake2b", "hashlib", "blake2b"),
    "fast_sha1": ("_hashlib", "openssl_sha1", "hashlib", "sha1"),
    "json_string": ("_json", "encode_basestring_ascii", "json", "dumps"),
    "json_scanner": ("_json", "make_scanner", _NONE, _NONE),
}


def __getattr__(name: str) -> object:
    """Finds a name on its first use; from then on it is an ordinary name of this module."""
    if name not in _FOUND_IN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    private, inner, public, outer = _FOUND_IN[name]
    try:
        found = _found(private, inner)
    except (ImportError, AttributeError):
        found = _found(public, outer) if public else None
    globals()[name] = found
    return found


def _found(module: str, name: str) -> object:
    loaded = __import__(module)
    return getattr(loaded, name) if name else loaded


def environment() -> "dict[bytes, bytes]":
    """Returns the variables of this process as they were when it began, in bytes."""
    try:
        return __import__("posix").environ  # type: ignore[no-any-return]
    except ImportError:
        return dict(__import__("os").environb)
