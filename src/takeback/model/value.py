"""The base of every value: frozen, slotted, compared by its fields.

A stand-in for ``dataclasses`` on the hook path: importing that module costs 20 ms, more
than a whole capture of a small workspace, because it pulls in ``inspect``. Type
checkers see an ordinary frozen dataclass.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self, dataclass_transform

    @dataclass_transform(frozen_default=True)
    class _ValueType(type):
        _types: Mapping[str, str]
        _defaults: Mapping[str, object]

else:

    class _ValueType(type):
        """Turns the annotations of a class body into slots, in order."""

        def __new__(mcs, name, bases, namespace):
            own = tuple(namespace.get("__annotations__", ()))
            defaults = {field: namespace.pop(field) for field in own if field in namespace}
            namespace["__slots__"] = own
            cls = super().__new__(mcs, name, bases, namespace)
            inherited = tuple(f for base in reversed(bases) for f in getattr(base, "_fields", ()))
            cls._fields = inherited + own
            cls._types = {
                **{k: v for base in bases for k, v in getattr(base, "_types", {}).items()},
                **namespace.get("__annotations__", {}),
            }
            cls._defaults = {
                **{k: v for base in bases for k, v in getattr(base, "_defaults", {}).items()},
                **defaults,
            }
            cls._setters = tuple(getattr(cls, field).__set__ for field in cls._fields)
            return cls


class Value(metaclass=_ValueType):
    """A frozen record whose fields are the annotations of the class body.

    Subclasses need ``from __future__ import annotations`` in their module and may give defaults
    that are immutable; there is no default factory on purpose. ``_types`` has the annotation of
    each field, as text, for encoding values (model/codec.py).
    """

    if TYPE_CHECKING:

        def replace(self, **changes: Any) -> Self: ...

    else:

        def __init__(self, *args, **kwargs):
            fields = self._fields
            if len(args) == len(fields) and not kwargs:  # made this way by the thousand
                for set_field, value in zip(self._setters, args, strict=True):
                    set_field(self, value)
                return
            given = {**self._defaults, **dict(zip(fields, args, strict=False)), **kwargs}
            if (
                len(args) > len(fields)
                or given.keys() != self._types.keys()
                or not kwargs.keys().isdisjoint(fields[: len(args)])
            ):
                raise TypeError(self._misfit(args, kwargs))
            for name, set_field in zip(fields, self._setters, strict=True):
                set_field(self, given[name])

        def _misfit(self, args, kwargs):
            """Says what is wrong with the fields that a value was to be made of."""
            fields, kind = self._fields, type(self).__name__
            if len(args) > len(fields):
                return f"{kind} takes {len(fields)} fields"
            for name in kwargs:
                if name not in fields or name in fields[: len(args)]:
                    return f"{kind}: unexpected or repeated field {name!r}"
            given = {*self._defaults, *fields[: len(args)], *kwargs}
            missing = next(name for name in fields if name not in given)
            return f"{kind}: missing field {missing!r}"

        def __setattr__(self, name, value):
            raise AttributeError(f"{type(self).__name__} is frozen")

        def __delattr__(self, name):
            raise AttributeError(f"{type(self).__name__} is frozen")

        def __eq__(self, other):
            if type(other) is not type(self):
                return NotImplemented
            return all(getattr(self, f) == getattr(other, f) for f in self._fields)

        def __hash__(self):
            return hash((type(self), *(getattr(self, f) for f in self._fields)))

        def __repr__(self):
            body = ", ".join(f"{f}={getattr(self, f)!r}" for f in self._fields)
            return f"{type(self).__name__}({body})"

        def __reduce__(self):
            return (type(self), tuple(getattr(self, f) for f in self._fields))

        def replace(self, **changes):
            """Returns a copy with some fields changed."""
            values = [changes.pop(f) if f in changes else getattr(self, f) for f in self._fields]
            return type(self)(*values, **changes)
