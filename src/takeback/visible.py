"""Makes text from others harmless: what would control a terminal becomes visible.

File names, prompts, labels, ids and branches may contain anything. Each of them passes through here
before it becomes part of a sentence, so that no face has to think of it.
"""

from __future__ import annotations


def shown(text: str) -> str:
    """Returns text on one line; terminal controls and what is not a character as ``\\xNN``."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or _joins(text, at) else _escaped(c) for at, c in enumerate(text)
    )


def editable(text: str) -> str:
    """Returns text as an editor in a terminal may hold it: lines and tabs stay as they are."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join("\t".join(map(shown, line.split("\t"))) for line in lines)


def _joins(text: str, at: int) -> bool:
    """Tells whether a character joins two symbols into one, as in the emoji of a family.

    Between letters it would only hide that two names differ.
    """
    beside = text[at - 1 : at] + text[at + 1 : at + 2]
    return text[at] == _JOINER and len(beside) == 2 and min(beside) >= _SYMBOLS


_JOINER, _SYMBOLS = "\u200d", "\u2190"
_LONGEST = 120
_ORDINARY = frozenset(" ./_-+@=,~()[]{}#%!$^:;'&*?|")


def quoted(text: str) -> str:
    """Returns text as a model may read it: in quotes, which it cannot leave, and not too long.

    Letters and digits of every script stay as they are, and so does what is usual in names; all
    else (quotation marks, angle brackets, invisible characters) becomes ``\\xNN``.
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
