"""Edits JSON settings of other programs as text: comments, order and layout stay.

Agents' settings belong to the person. They may hold comments and trailing commas, and rewriting
them from parsed values would lose both, so only the characters of an edit change.
"""

from __future__ import annotations

from takeback.model import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

OBJECT, ARRAY, OTHER = "object", "array", "other"
_CLOSING = {OBJECT: "}", ARRAY: "]"}


class JsonNode:
    """A value in the text: where it is, and what is in it.

    ``end`` is after its last character. A member begins at ``key_start`` with its key, which ends
    at ``key_end``; anything else begins at ``start``.
    """

    def __init__(self, kind: str, start: int) -> None:
        self.kind = kind
        self.start = start
        self.end = start
        self.key = ""
        self.key_start = self.key_end = start
        self.children: list[JsonNode] = []
        self.value: Any = None

    def member(self, key: str) -> JsonNode | None:
        """Returns the last member of that name, which is the one that counts."""
        found = [child for child in self.children if child.key == key]
        return found[-1] if self.kind == OBJECT and found else None

    def plain(self) -> Any:
        """Returns the plain Python value."""
        if self.kind == OBJECT:
            return {child.key: child.plain() for child in self.children}
        if self.kind == ARRAY:
            return [child.plain() for child in self.children]
        return self.value


def parse(text: str) -> JsonNode:
    """Reads a document; an empty one is an empty object. Raises ValueError with the line."""
    if not text.strip():
        return JsonNode(OBJECT, len(text))
    reader = _Reader(text)
    reader.skip()
    try:
        node = reader.value()
    except RecursionError:
        raise reader.wrong("too many brackets in one another") from None
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
        """Skips blanks and comments."""
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

    def value(self) -> JsonNode:
        if self.at >= len(self.text):
            raise self.wrong("a value is missing")
        if self.text[self.at] in "{[":
            return self._container(OBJECT if self.text[self.at] == "{" else ARRAY)
        node = JsonNode(OTHER, self.at)
        node.value = self._scalar()
        node.end = self.at
        return node

    def _container(self, kind: str) -> JsonNode:
        node = JsonNode(kind, self.at)
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

    def _child(self, kind: str) -> JsonNode:
        key_start, key_end, key = self.at, self.at, ""
        if kind == OBJECT:
            found = self._scalar()
            if not isinstance(found, str):
                raise self.wrong("a key that is no string")
            key, key_end = found, self.at
            self.skip()
            if self.text[self.at : self.at + 1] != ":":
                raise self.wrong("a colon is missing")
            self.at += 1
            self.skip()
        child = self.value()
        child.key, child.key_start, child.key_end = key, key_start, key_end
        return child

    def _scalar(self) -> Any:
        start = self.at
        if self.text.startswith('"', start):
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

    Raises ValueError if something other than an object or array is in the way.
    """
    chain = _along(parse(text), path)
    depth = len(chain) - 1
    if depth == len(path):
        if chain[-1].kind != ARRAY:
            raise ValueError(f"{'.'.join(path)} is no list")
        return _append(text, chain[-1], depth, lambda indent: json_text.dumps(item))
    value: Any = [_Line(item)]
    for key in reversed(path[depth + 1 :]):
        value = {key: value}
    name, holder = path[depth], chain[-1]
    if holder.kind != OBJECT:
        raise ValueError(f"{name} cannot be set: what holds it is no object")
    if holder.end == holder.start:  # an empty file
        return _shown({name: value}, 0, "  ") + "\n"
    key = json_text.dumps(name)
    return _append(text, holder, depth, lambda i: f"{key}: {_shown(value, depth + 1, i)}")


class _Line:
    """An item that is written on one line."""

    def __init__(self, item: Any) -> None:
        self.item = item


def _along(root: JsonNode, path: Sequence[str | int]) -> list[JsonNode]:
    """Returns the nodes along a path as far as there are any, the root first."""
    chain = [root]
    for key in path:
        here = chain[-1]
        if isinstance(key, int):
            found = here.children[key] if here.kind == ARRAY else None
        elif here.kind == OBJECT:
            found = here.member(key)
        else:
            raise ValueError(f"{key} cannot be set: what holds it is no object")
        if found is None:
            break
        chain.append(found)
    return chain


def _append(text: str, node: JsonNode, depth: int, shown: Callable[[str], str]) -> str:
    """Adds something after the last child, and after the comments on its line."""
    indent = _indent(text)
    added = "\n" + indent * (depth + 1) + shown(indent)
    if node.children:
        last = node.children[-1].end
        comma = _comma_after(text, last)
        place = _past_remarks(text, last if comma is None else comma)
        left = text[:place] if comma is not None else text[:last] + "," + text[last:place]
    else:
        left, place = text[: node.end - 1].rstrip(), node.end - 1
        added += "\n" + indent * depth
    if "\r\n" in text:
        added = added.replace("\n", "\r\n")
    return left + added + text[place:]


def _comma_after(text: str, at: int) -> int | None:
    """Returns the position after the comma that follows a child, None if there is none."""
    reader = _Reader(text)
    reader.at = at
    reader.skip()
    return reader.at + 1 if text[reader.at : reader.at + 1] == "," else None


def _past_remarks(text: str, at: int) -> int:
    """Returns the position after the comments that follow on the same line."""
    end = at
    while True:
        rest = text[at:].lstrip(" \t")
        at = len(text) - len(rest)
        if rest.startswith("//"):
            return at + len(rest.partition("\n")[0].rstrip("\r"))
        if not rest.startswith("/*"):
            return end
        at = end = at + rest.index("*/") + 2


def _indent(text: str) -> str:
    for line in text.split("\n")[1:]:
        blank = line[: len(line) - len(line.lstrip(" \t"))]
        if blank and line.strip():
            return blank
    return "  "


def _shown(value: Any, depth: int, indent: str) -> str:
    """Returns a value as people write it: one member per line, an item on one line."""
    if isinstance(value, _Line):
        return json_text.dumps(value.item)
    pad = "\n" + indent * (depth + 1)
    end = "\n" + indent * depth
    if isinstance(value, dict):
        lines = (
            f"{json_text.dumps(key)}: {_shown(item, depth + 1, indent)}"
            for key, item in value.items()
        )
        return "{" + pad + ("," + pad).join(lines) + end + "}"
    return "[" + pad + ("," + pad).join(_shown(v, depth + 1, indent) for v in value) + end + "]"


def without_items(text: str, path: Sequence[str | int], unwanted: Callable[[Any], bool]) -> str:
    """Returns the text without the items of the array at ``path`` that are unwanted.

    A container that holds nothing else, not even a comment, is removed with them.
    """
    while True:
        chain = _along(parse(text), path)
        if len(chain) <= len(path) or chain[-1].kind != ARRAY:
            return text
        gone = [child for child in chain[-1].children if unwanted(child.plain())]
        if not gone:
            return text
        doomed, holder = gone[-1], len(chain) - 1
        while holder > 0 and _holds_only(text, chain[holder], doomed):
            doomed, holder = chain[holder], holder - 1
        text = _cut(text, chain[holder], doomed)


def _holds_only(text: str, holder: JsonNode, child: JsonNode) -> bool:
    around = text[holder.start + 1 : child.key_start] + text[child.end : holder.end - 1]
    named = text[child.key_end : child.start] + text[holder.key_end : holder.start]
    return len(holder.children) == 1 and not (around + named).strip(" \t\r\n,:")


def _cut(text: str, holder: JsonNode, child: JsonNode) -> str:
    """Removes one child, with one comma beside it; comments around it stay."""
    number = holder.children.index(child)
    left, right = text[: child.key_start], text[child.end :]
    comma = _comma_after(text, child.end)
    if comma is not None:
        remarks = text[child.end : comma - 1].rstrip(" \t")
        right = (remarks if remarks.strip() else "") + text[comma:]
    elif number > 0:
        before = _comma_after(text, holder.children[number - 1].end) or child.key_start
        left = text[: before - 1] + text[before : child.key_start]
    if _holds_only(text, holder, child):
        return text[: holder.start + 1] + text[holder.end - 1 :]
    return _joined(left, right)


def _joined(left: str, right: str) -> str:
    """Joins what was around a child; the blanks before it go, unless they end a comment."""
    if right.lstrip(" \t")[:1] in ("\r", "\n", "]", "}"):
        remark = "//" in left.rstrip().rpartition("\n")[2]
        ends_line = right.lstrip(" \t")[:1] in ("\r", "\n")
        return left + right if remark and not ends_line else left.rstrip() + right
    return left + right.lstrip(" \t")
