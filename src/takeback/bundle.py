"""The bundle: the code of a hook in one file, so that starting it is one read and not ninety.

Finding, opening and reading the modules is the largest part of a hook's time. What a hook
imported is left beside the launcher, and the next one takes its modules from there:

    $TAKEBACK_HOME/bin/hook.code    a hash, then (python, {name: (path, kind, mtime, size, code)})

It is believed only whole and only for this Python, and each module's source is looked at: one
that changed, or is gone, makes the bundle worthless. Then the modules are imported as ever and
the bundle is made anew. It is disposable; nothing but speed depends on it.
"""

from __future__ import annotations

import _frozen_importlib
import _frozen_importlib_external as external
import _imp
import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    Entry = tuple[str, int, int, int, bytes]
    """Path, kind, when and how long its file is, and the marshalled code."""

NAME = "hook.code"
_HASH = 8
_MODULE, _PACKAGE, _EXTENSION = 0, 1, 2
_PYTHON = (sys.hexversion, sys.implementation.cache_tag, external.MAGIC_NUMBER)


class Bundle:
    """The modules of one file, served to ``import`` from memory."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._before = frozenset(sys.modules)
        self._entries: Mapping[str, Entry] = _read(path)
        if self._entries:
            sys.meta_path.insert(0, self)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        entry = self._entries.get(name)
        if entry is None:
            return None
        origin, kind = entry[0], entry[1]
        if kind == _EXTENSION:
            loader = external.ExtensionFileLoader(name, origin)
            return external.spec_from_file_location(name, origin, loader=loader)
        spec = _frozen_importlib.ModuleSpec(name, self, origin=origin)  # type: ignore[arg-type]
        spec.has_location = True
        if kind == _PACKAGE:
            spec.submodule_search_locations = [os.path.dirname(origin)]
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        """Leaves the making of the module to the import system."""

    def exec_module(self, module: ModuleType) -> None:
        exec(marshal.loads(self._entries[module.__name__][4]), module.__dict__)

    def keep(self) -> None:
        """Writes what this process imported, if that is more than the bundle has."""
        loaded = set(sys.modules) - self._before - set(self._entries)
        new = {name: entry for name in sorted(loaded) if (entry := _entry(name)) is not None}
        if not new:
            return
        from takeback import durable

        body = marshal.dumps((_PYTHON, {**self._entries, **new}))
        try:
            durable.replace_file(self._path, _hash(body) + body, flush=False)
        except OSError:  # a full or read-only disk: the next hook imports as this one did
            return


def _read(path: str) -> Mapping[str, Entry]:
    """Returns the modules of a bundle; none unless all of it is as it was when it was made."""
    try:
        with open(path, "rb") as file:
            data = file.read()
        body = data[_HASH:]
        if _hash(body) != data[:_HASH]:  # unmarshalling damaged bytes would crash
            return {}
        python, entries = marshal.loads(body)
        if python != _PYTHON:
            return {}
        for place, _, mtime, size, _ in entries.values():
            found = os.stat(place)
            if (found.st_mtime_ns, found.st_size) != (mtime, size):
                return {}
    except (OSError, ValueError, EOFError, TypeError):
        return {}
    return entries  # type: ignore[no-any-return]


def _entry(name: str) -> Entry | None:
    """Returns a loaded module as the bundle keeps it; None for what no file of ours made."""
    top = name.partition(".")[0]
    spec = getattr(sys.modules[name], "__spec__", None)
    if spec is None or not spec.has_location or not spec.origin:
        return None
    if top != "takeback" and top not in sys.stdlib_module_names:
        return None
    if isinstance(spec.loader, external.ExtensionFileLoader):
        kind, code = _EXTENSION, b""
    elif isinstance(spec.loader, external.SourceFileLoader):
        kind = _MODULE if spec.submodule_search_locations is None else _PACKAGE
        code = marshal.dumps(spec.loader.get_code(name))
    else:
        return None
    found = os.stat(spec.origin)
    return spec.origin, kind, found.st_mtime_ns, found.st_size, code


def _hash(body: bytes) -> bytes:
    # The one hash that is part of the interpreter: any other is a module to be found and loaded.
    return _imp.source_hash(0, body)
