"""Turns what a person types into a value of a setting, and a line of a settings file."""

from __future__ import annotations

from takeback.config import checked, example, setting_named
from takeback.config.compiled import read_text
from takeback.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def parse_value(name: str, text: str) -> Any:
    """Turns what a person typed into a value of the setting; raises UsageError."""
    setting = setting_named(name)
    value: Any = text
    if setting.kind == "number":
        try:
            value = float(text) if "." in text else int(text)
        except ValueError:
            raise UsageError(
                f"{name} must be a number, not {text!r}", hint=example(setting)
            ) from None
    elif setting.kind == "yes|no":
        words = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
        if text.lower() not in words:
            raise UsageError(f"{name} must be yes or no, not {text!r}", hint=example(setting))
        value = words[text.lower()]
    elif setting.kind == "bytes" and text.isascii() and text.isdigit():
        value = int(text)
    elif setting.kind == "list":
        value = [item.strip() for item in text.split(",") if item.strip()]
    return checked(name, value)


def written(path: str, name: str, value: Any) -> str:
    """Returns the text of a settings file with one value set; other lines and comments stay.

    None removes the setting from the file.
    """
    set_to = [] if value is None else [f"{name} = {_toml(value)}"]
    try:
        lines = read_text(path)[0].removesuffix("\n").split("\n")
    except FileNotFoundError:
        lines = []
    except ValueError as error:
        raise UsageError(f"{path} cannot be changed: {error}", hint="remove it") from None
    for number, old in enumerate(lines):
        if old.partition("=")[0].strip() == name:
            lines[number : _end_of_value(lines, number)] = set_to
            break
    else:
        lines += set_to
    return "\n".join(lines) + "\n" if lines else ""


def _end_of_value(lines: list[str], start: int) -> int:
    """Returns the line after an assignment, which may span several lines."""
    import tomllib

    for end in range(start + 1, len(lines) + 1):
        try:
            tomllib.loads("\n".join(lines[start:end]))
        except ValueError:
            continue
        return end
    return start + 1


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return '"' + "".join(_toml_character(c) for c in value) + '"'
    return "[" + ", ".join(_toml(item) for item in value) + "]"


def _toml_character(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if ord(character) < 0x20 or ord(character) == 0x7F:
        return f"\\u{ord(character):04x}"
    return character
