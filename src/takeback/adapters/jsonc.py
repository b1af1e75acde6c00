"""Edits JSON settings of other programs as text: comments, order and layout stay.

Agents' settings belong to the person. They may hold comments and trailing commas, and writing
them anew from parsed values would lose both, so only the characters of an edit change.
"""

from __future__ import annotations

from takeback.model import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

OBJECT, ARRAY, OTHER = "object", "array", "other"
_CLOSING = {OBJECT: "}", ARRAY: "]"}


class Node:
    """A value in the text: where it stands, and what is in it.

    ``end`` is behind its last character. Of a member ``start`` of ``key_start`` is where its
    key begins.
    """

    def __init__(self, kind: str, start: int) -> None:
        self.kind = kind
        self.start = start
        self.end = start
        self.key = ""
        self.key_start = start
        self.children: list[Node] = []
        self.value: Any = None

    def member(self, key: str) -> Node | None:
        """Returns the last member of that name, which is the one that counts."""
        found = [child for child in self.children if child.key == key]
        return found[-1] if self.kind == OBJECT and found else None

    def plain(self) -> Any:
        """Returns the value without its place."""
        if self.kind == OBJECT:
            return {child.key: child.plain() for child in self.children}
        if self.kind == ARRAY:
            return [child.plain() for child in self.children]
        return self.value


def parse(text: str) -> Node:
    """Reads a document; an empty one is an empty object. Raises ValueError with the line."""
    if not text.strip():
        return Node(OBJECT, len(text))
    reader = _Reader(text)
    reader.skip()
    node = reader.value()
    reader.skip()
    if reader.at < len(text):
        raise reader.wrong("more than one value")
    return node


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 1 if text.startswith("\ufeff") else 0

    def wrong(self, what: str) -> ValueError:
        line = self.text.count("\n", 0, self.at) + 1
        return ValueError(f"{what} in line {line}")

    def skip(self) -> None:
        """Passes over blanks and comments."""
        text = self.text
        while self.at < len(text):
            if text[self.at] in " \t\r\n":
                self.at += 1
            elif text.startswith("//", self.at):
                end = text.find("\n", self.at)
                self.at = len(text) if end < 0 else end
            elif text.startswith("/*", self.at):
                end = text.find("*/", self.at)
                if end < 0:
                    raise self.wrong("a comment without end")
                self.at = end + 2
            else:
                return

    def value(self) -> Node:
        if self.at >= len(self.text):
            raise self.wrong("a value is missing")
        if self.text[self.at] in "{[":
            return self._container(OBJECT if self.text[self.at] == "{" else ARRAY)
        node = Node(OTHER, self.at)
        node.value = self._scalar()
        node.end = self.at
        return node

    def _container(self, kind: str) -> Node:
        node = Node(kind, self.at)
        self.at += 1
        while True:
            self.skip()
            if self.text[self.at : self.at + 1] == _CLOSING[kind]:
                self.at += 1
                node.end = self.at
                return node
            node.children.append(self._child(kind))
            self.skip()
            if self.text[self.at : self.at + 1] == ",":
                self.at += 1
            elif self.text[self.at : self.at + 1] != _CLOSING[kind]:
                raise self.wrong("a comma or bracket is missing")

    def _child(self, kind: str) -> Node:
        key_start, key = self.at, ""
        if kind == OBJECT:
            found = self._scalar()
            if not isinstance(found, str):
                raise self.wrong("a key that is no string")
            key = found
            self.skip()
            if self.text[self.at : self.at + 1] != ":":
                raise self.wrong("a colon is missing")
            self.at += 1
            self.skip()
        child = self.value()
        child.key, child.key_start = key, key_start
        return child

    def _scalar(self) -> Any:
        start = self.at
        if self.text[start] == '"':
            self.at += 1
            while self.text[self.at : self.at + 1] not in ('"', ""):
                self.at += 2 if self.text[self.at] == "\\" else 1
            self.at += 1
        else:
            while self.at < len(self.text) and self.text[self.at] not in ",:]}/ \t\r\n":
                self.at += 1
        try:
            return json_text.loads(self.text[start : self.at])
        except ValueError:
            self.at = start
            raise self.wrong("something that is no JSON") from None


def with_item(text: str, path: Sequence[str], item: Any) -> str:
    """Returns the text with ``item`` appended to the array at ``path``; missing parents are made.

    Raises ValueError if something else than an object or array is in the way.
    """
    chain = _along(parse(text), path)
    depth = len(chain) - 1
    if depth < len(path):
        return _with_member(text, chain, path, [_Line(item)])
    if chain[-1].kind != ARRAY:
        raise ValueError(f"{'.'.join(path)} is no list")
    return _append(text, chain[-1], depth, lambda indent: json_text.dumps(item))


class _Line:
    """An item that is written on one line."""

    def __init__(self, item: Any) -> None:
        self.item = item


def with_value(text: str, path: Sequence[str], value: Any) -> str:
    """Returns the text with a value at ``path``, unless there is one already."""
    chain = _along(parse(text), path)
    return text if len(chain) > len(path) else _with_member(text, chain, path, value)


def _along(root: Node, path: Sequence[str]) -> list[Node]:
    """Returns the nodes along a path as far as there are any, the root first."""
    chain = [root]
    for key in path:
        if chain[-1].kind != OBJECT:
            raise ValueError(f"{key} cannot be set: what holds it is no object")
        found = chain[-1].member(key)
        if found is None:
            break
        chain.append(found)
    return chain


def _with_member(text: str, chain: list[Node], path: Sequence[str], value: Any) -> str:
    depth = len(chain) - 1
    for key in reversed(path[depth + 1 :]):
        value = {key: value}
    name, holder = path[depth], chain[-1]
    if holder.end == holder.start:  # an empty file
        return _shown({name: value}, 0, "  ") + "\n"
    if holder.kind != OBJECT:
        raise ValueError(f"{name} cannot be set: what holds it is no object")
    return _append(
        text,
        holder,
        depth,
        lambda indent: f"{json_text.dumps(name)}: {_shown(value, depth + 1, indent)}",
    )


def _append(text: str, node: Node, depth: int, shown: Callable[[str], str]) -> str:
    indent = _indent(text)
    pad = "\n" + indent * (depth + 1)
    if not node.children:
        inside = text[node.start + 1 : node.end - 1].rstrip()
        return (
            text[: node.start + 1]
            + inside
            + pad
            + shown(indent)
            + "\n"
            + indent * depth
            + text[node.end - 1 :]
        )
    last = node.children[-1].end
    comma = _comma_after(text, last)
    at = last if comma is None else comma
    sign = "," if comma is None else ""
    return text[:at] + sign + pad + shown(indent) + text[at:]


def _comma_after(text: str, at: int) -> int | None:
    """Returns the place behind a trailing comma, None if there is none."""
    reader = _Reader(text)
    reader.at = at
    reader.skip()
    return reader.at + 1 if text[reader.at : reader.at + 1] == "," else None


def _indent(text: str) -> str:
    for line in text.split("\n")[1:]:
        blank = line[: len(line) - len(line.lstrip(" \t"))]
        if blank and line.strip():
            return blank
    return "  "


def _shown(value: Any, depth: int, indent: str) -> str:
    """Returns a value as people write it: one member a line, an item on one line."""
    if isinstance(value, _Line):
        return json_text.dumps(value.item)
    pad = "\n" + indent * (depth + 1)
    end = "\n" + indent * depth
    if isinstance(value, dict) and value:
        lines = (
            f"{json_text.dumps(key)}: {_shown(item, depth + 1, indent)}"
            for key, item in value.items()
        )
        return "{" + pad + ("," + pad).join(lines) + end + "}"
    if isinstance(value, list) and value:
        return "[" + pad + ("," + pad).join(_shown(v, depth + 1, indent) for v in value) + end + "]"
    return json_text.dumps(value)


def without_items(text: str, path: Sequence[str], unwanted: Callable[[Any], bool]) -> str:
    """Returns the text without the items of the array at ``path`` that are unwanted.

    An array or object that becomes empty by that goes too.
    """
    while True:
        chain = _along(parse(text), path)
        if len(chain) <= len(path) or chain[-1].kind != ARRAY:
            return text
        gone = [child for child in chain[-1].children if unwanted(child.plain())]
        if not gone:
            return text
        doomed, holder = gone[-1], len(chain) - 1
        while holder > 0 and len(chain[holder].children) == 1:
            doomed, holder = chain[holder], holder - 1
        text = _cut(text, chain[holder], doomed)


def _cut(text: str, holder: Node, child: Node) -> str:
    """Takes one child out, with the comma that joined it to its neighbours."""
    number = holder.children.index(child)
    if number > 0:
        return text[: holder.children[number - 1].end] + text[_end_of(text, child) :]
    if len(holder.children) > 1:
        return text[: child.key_start] + text[holder.children[1].key_start :]
    inside = text[holder.start + 1 : child.key_start].rstrip()
    return text[: holder.start + 1] + inside + text[holder.end - 1 :]


def _end_of(text: str, child: Node) -> int:
    """Returns where what follows a child begins, a trailing comma included."""
    comma = _comma_after(text, child.end)
    return child.end if comma is None else comma - 1
