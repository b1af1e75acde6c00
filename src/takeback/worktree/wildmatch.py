"""Matches a path against a pattern as git does in ``[includeIf]``, in bounded time.

``*`` and ``?`` and brackets stop at a slash. ``**`` between slashes, or between a slash and an end,
does not; elsewhere it is a ``*``. All places that a match can have reached are followed at once, so
that no pattern, however hostile, takes more than its length times that of the path.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST = 4096
_SLASH = 0x2F
_CLASSES: dict[bytes, Callable[[bytes], bool]] = {
    b"alpha": bytes.isalpha,
    b"digit": bytes.isdigit,
    b"alnum": bytes.isalnum,
    b"lower": bytes.islower,
    b"upper": bytes.isupper,
    b"space": bytes.isspace,
    b"blank": lambda c: c in b" \t",
    b"cntrl": lambda c: c < b" " or c == b"\x7f",
    b"print": lambda c: b" " <= c <= b"~",
    b"graph": lambda c: b"!" <= c <= b"~",
    b"punct": lambda c: b"!" <= c <= b"~" and not c.isalnum(),
    b"xdigit": lambda c: c in b"0123456789abcdefABCDEF",
}
_STAR, _ANYTHING, _SKIP = "*", "**", "**/"
_ANY_BYTE = frozenset(range(256)) - {_SLASH}


def matches(pattern: bytes, text: bytes, *, fold: bool = False) -> bool:
    """Tells whether the whole of ``text`` matches; ``fold``: case does not matter."""
    if len(pattern) > _LONGEST or len(text) > _LONGEST:
        return False
    if fold:
        pattern, text = pattern.lower(), text.lower()
    try:
        tokens = _tokens(pattern)
    except IndexError:  # a bracket that does not close, a backslash at the end
        return False
    places = _reached(tokens, {0})
    for byte in text:
        following = set()
        for place in places:
            token = tokens[place] if place < len(tokens) else None
            if token == _STAR:
                if byte != _SLASH:
                    following.add(place)
            elif token == _ANYTHING:
                following.add(place)
            elif isinstance(token, frozenset) and byte in token:
                following.add(place + 1)
        places = _reached(tokens, following)
    return len(tokens) in places


def _reached(tokens: list[str | frozenset[int]], places: set[int]) -> set[int]:
    """Adds the places that are reached without a further byte."""
    reached: set[int] = set()
    stack = list(places)
    while stack:
        place = stack.pop()
        if place in reached:
            continue
        reached.add(place)
        if place < len(tokens) and isinstance(tokens[place], str):
            stack.append(place + 1)
            if tokens[place] == _SKIP:  # "**/" is nothing at all, or anything and a slash
                stack.append(place + 3)
    return reached


def _tokens(pattern: bytes) -> list[str | frozenset[int]]:
    """Takes a pattern apart: wildcards, and for each other position the bytes that fit."""
    tokens: list[str | frozenset[int]] = []
    at = 0
    while at < len(pattern):
        char = pattern[at : at + 1]
        if char == b"*":
            end = at
            while pattern[end : end + 1] == b"*":
                end += 1
            bounded = end - at >= 2 and (at == 0 or pattern[at - 1 : at] == b"/")
            if bounded and end == len(pattern):
                tokens.append(_ANYTHING)
            elif bounded and pattern[end : end + 1] == b"/":
                tokens += [_SKIP, _ANYTHING, frozenset((_SLASH,))]
                end += 1
            else:
                tokens.append(_STAR)
            at = end
        elif char == b"?":
            tokens.append(_ANY_BYTE)
            at += 1
        elif char == b"[":
            fitting, at = _bracket(pattern, at + 1)
            tokens.append(fitting)
        else:
            if char == b"\\":
                at += 1
            tokens.append(frozenset((pattern[at],)))
            at += 1
    return tokens


def _bracket(pattern: bytes, at: int) -> tuple[frozenset[int], int]:
    """Returns the bytes that fit a bracket, and where it ends; raises IndexError if nowhere."""
    negated = pattern[at] in b"!^"
    at += negated
    fitting: set[int] = set()
    first = True
    while first or pattern[at] != 0x5D:
        first = False
        if pattern[at : at + 2] == b"[:" and (end := pattern.find(b":]", at)) > 0:
            member = _CLASSES.get(pattern[at + 2 : end])
            if member is None:
                raise IndexError
            fitting.update(n for n in range(256) if member(bytes((n,))))
            at = end + 2
            continue
        low, at = _member(pattern, at)
        if pattern[at] == 0x2D and pattern[at + 1] != 0x5D:
            high, at = _member(pattern, at + 1)
            fitting.update(range(low, high + 1))
        else:
            fitting.add(low)
    chosen = frozenset(range(256)) - fitting if negated else frozenset(fitting)
    return chosen - {_SLASH}, at + 1


def _member(pattern: bytes, at: int) -> tuple[int, int]:
    if pattern[at] == 0x5C:
        at += 1
    return pattern[at], at + 1
