"""Makes text that others chose harmless: what would steer a terminal becomes visible.

File names, prompts, labels, ids and branches are whatever somebody wrote. Wherever one of them
becomes part of a sentence it goes through here, so that no face has to think of it.
"""

from __future__ import annotations


def shown(text: str) -> str:
    """Returns text on one line: what would steer a terminal, or is no character, as ``\\xNN``."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or _joins(text, at) else _escaped(c) for at, c in enumerate(text)
    )


def _joins(text: str, at: int) -> bool:
    """Tells whether a character joins two symbols into one, as in the emoji of a family.

    Between letters it would only hide that two names are not the same.
    """
    beside = text[at - 1 : at] + text[at + 1 : at + 2]
    return text[at] == _JOINER and len(beside) == 2 and min(beside) >= _SYMBOLS


_JOINER, _SYMBOLS = "\u200d", "\u2190"
_LONGEST = 120
_ORDINARY = frozenset(" ./_-+@=,~()[]{}#%!$^:;'&*?|")


def quoted(text: str) -> str:
    """Returns text as a model may read it: in quotes, which it cannot leave, and not too long.

    Letters and digits of every script stand as they are, and what is usual in names; all else
    (quotation marks, angle brackets, what is not seen) as ``\\xNN``.
    """
    inner = "".join(c if c.isalnum() or c in _ORDINARY else _marked(c) for c in text)
    if len(inner) > _LONGEST:
        half = _LONGEST // 2
        inner = f"{inner[:half]}\u2026{inner[-half:]}"
    return f'"{inner}"'


def _marked(character: str) -> str:
    return "\\" + character if character in '"\\' else _escaped(character)


def _escaped(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
