"""The methods of ``Takeback``, for docs/python.md."""

from __future__ import annotations

import inspect

from takeback import Takeback


def table() -> str:
    """Returns a table of the page: a group of rows for each of its headings."""
    made = []
    for line in inspect.getsource(Takeback).splitlines():
        if line.startswith("    # -- "):
            made += ["", f"**{line[9:].capitalize()}**", "", "| | |", "|---|---|"]
        name = line.strip().removeprefix("def ").partition("(")[0].partition(" = ")[0]
        if line[4:5].isalpha() and name.isidentifier() and not name.startswith("_"):
            made.append(f"| `{_call(name)}` | {_about(name)} |")
    return "\n".join(made)[1:]


def _about(name: str) -> str:
    words = inspect.getdoc(getattr(Takeback, name)) or ""
    return words.splitlines()[0].replace("``", "`")


def _call(name: str) -> str:
    """Returns how it is called; for a property, only its name."""
    method = getattr(Takeback, name)
    if isinstance(method, property):
        return name
    shown: list[str] = []
    for one in inspect.signature(method).parameters.values():
        if one.kind is one.KEYWORD_ONLY and not any(word.startswith("*") for word in shown):
            shown.append("*")
        star = "*" if one.kind is one.VAR_POSITIONAL else ""
        default = "" if star or one.default is one.empty else "=…"
        shown += [] if one.name == "self" else [f"{star}{one.name}{default}"]
    return f"{name}({', '.join(shown)})"
