"""Values as JSON records: how each field is written follows from its class alone.

    class Child(Value):                 encode(child)          {"id": "mine-7", "worktree": null}
        id: SessionId                   decode(Child, record)  Child("mine-7")
        worktree: str | None = None

A field that a record lacks gets its default: an older takeback did not know it. What a record has
beyond the fields is ignored: a newer one wrote it.
"""

from __future__ import annotations

from takeback.model.checkpoint import Change, decode_entry, encode_entry
from takeback.model.path_text import to_bytes, to_text
from takeback.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    V = TypeVar("V", bound=Value)
    Shape = tuple[Callable[[Any], Any], Callable[[Any], Any]]
    """How a field is written, and how it is read back."""


def encode(value: Value) -> dict[str, Any]:
    """Returns the record of a value; ``decode`` reads it back."""
    fields = _fields(type(value))
    return {name: write(getattr(value, name)) for name, (write, _) in fields.items()}


def decode(made: type[V], record: Mapping[str, Any]) -> V:
    """Returns the value that a record describes; raises ValueError naming what is wrong."""
    found = {}
    for name, (_, read) in _fields(made).items():
        if name not in record:
            if name not in made._defaults:
                raise ValueError(f"it has no {name}")
            continue
        try:
            found[name] = read(record[name])
        except (TypeError, ValueError, LookupError, AttributeError, OverflowError):
            raise ValueError(f"its {name} is of the wrong kind") from None
    return made(**found)


def _same(value: Any) -> Any:
    return value


def _only(*kinds: type) -> Callable[[Any], Any]:
    """Returns a function that reads back a value, which must be of one of these types."""

    def read(value: Any) -> Any:
        if type(value) not in kinds:
            raise TypeError
        return kinds[0](value)

    return read


def _write_change(change: Change) -> list[Any]:
    return [to_text(change.path), encode_entry(change.old), encode_entry(change.new)]


def _read_change(row: Any) -> Change:
    path, old, new = row
    return Change(to_bytes(path), decode_entry(old), decode_entry(new))


_VOCABULARIES = ("OperationKind", "ScopeKind")
"""Words of which a newer takeback may know more: any text is accepted."""
_TEXTS = (
    "str",
    "SessionId",
    "CheckpointId",
    "OperationId",
    "SnapshotId",
    "MachineId",
    *_VOCABULARIES,
)
_SHAPES: dict[str, Shape] = {
    **dict.fromkeys(_TEXTS, (_same, _only(str))),
    "int": (_same, _only(int)),
    "float": (_same, _only(float, int)),
    "bool": (_same, _only(bool)),
    "bytes": (to_text, to_bytes),
    "Change": (_write_change, _read_change),
}
"""By the type of a field. A type that no field had before needs a line here, a new field none."""
_known: dict[type[Value], dict[str, Shape]] = {}


def _fields(made: type[Value]) -> dict[str, Shape]:
    """Returns how each field of a class is written; worked out once."""
    if made not in _known:
        _known[made] = {name: _shape(text) for name, text in made._types.items()}
    return _known[made]


def _shape(text: str) -> Shape:
    """Returns how a field is written whose annotation is ``text``."""
    if text.endswith(" | None"):
        write, read = _shape(text.removesuffix(" | None"))
        return _unless_none(write), _unless_none(read)
    if text.startswith("tuple[") and text.endswith(", ...]"):
        write, read = _shape(text[len("tuple[") : -len(", ...]")])
        return _each(write, list), _each(read, tuple)
    return _SHAPES[text]


def _unless_none(action: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else action(value)


def _each(action: Callable[[Any], Any], made: type) -> Callable[[Any], Any]:
    def walk(values: Any) -> Any:
        if not isinstance(values, (list, tuple)):
            raise TypeError
        return made(action(value) for value in values)

    return walk
