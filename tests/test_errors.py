"""The tree in the docstring of errors.py is the tree of the classes."""

from __future__ import annotations

import inspect
import re

import pytest

from takeback import errors
from takeback.errors import GitFailed, PartlyDone, Refused, StoreDamaged, TakebackError

_LINE = re.compile(r"^ {4}(?P<branches>[│├└─ ]*)(?P<name>\w+) +(?P<status>\d+)", re.MULTILINE)


def drawn() -> dict[str, tuple[str | None, int]]:
    """Returns what the docstring draws: class -> (class above it, exit status)."""
    above: list[str] = []
    found: dict[str, tuple[str | None, int]] = {}
    for line in _LINE.finditer(errors.__doc__ or ""):
        depth = len(line["branches"]) // 4
        del above[depth:]
        found[line["name"]] = (above[-1] if above else None, int(line["status"]))
        above.append(line["name"])
    return found


def written() -> dict[str, tuple[str | None, int]]:
    """Returns the same of the classes."""
    return {
        name: (None if cls is TakebackError else cls.__bases__[0].__name__, cls.exit_status)
        for name, cls in inspect.getmembers(errors, inspect.isclass)
        if issubclass(cls, TakebackError)
    }


def test_the_tree_that_is_drawn_is_the_tree_of_the_classes() -> None:
    assert drawn() == written()


def test_every_error_has_a_code_of_its_own() -> None:
    classes = [cls for _, cls in inspect.getmembers(errors, inspect.isclass)]
    codes = [cls.code for cls in classes if issubclass(cls, TakebackError)]
    assert len(set(codes)) == len(codes)


def test_an_error_carries_its_sentence_and_what_to_do() -> None:
    with pytest.raises(TakebackError, match=r"^it broke$") as raised:
        raise Refused("it broke", hint="mend it", flag="--force")
    error = raised.value
    assert isinstance(error, Refused)
    assert (error.message, error.hint, error.flag) == ("it broke", "mend it", "--force")
    assert PartlyDone("", paths=[b"a"]).paths == (b"a",)
    assert StoreDamaged("x").hint == "run: takeback verify"


def test_what_git_said_is_in_the_message() -> None:
    error = GitFailed(["fsck", "--full"], 128, "")
    assert str(error) == "git fsck --full ended with status 128: no message"
    assert (error.argv, error.status) == (("fsck", "--full"), 128)
