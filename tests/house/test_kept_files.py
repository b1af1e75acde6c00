"""Every file of a store is in the table that a purge goes by: none can be forgotten."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import takeback
from takeback.store.redaction import KNOWN
from tests.support.source import tree_of

SOURCE = Path(takeback.__file__).parent
FORMAT = SOURCE.parent.parent / "docs" / "format.md"


def named_in_the_source() -> set[str]:
    """Returns the first name of every ``store.path("...")`` and ``Lock(store.path("..."))``."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(tree_of(path)):
            is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            if not is_call or node.func.attr != "path" or not node.args:  # type: ignore[attr-defined]
                continue
            owner = ast.unparse(node.func.value)  # type: ignore[attr-defined]
            first = node.args[0]  # type: ignore[attr-defined]
            is_store = owner == "store" or owner.endswith(("store", "_store", "locked.store"))
            if is_store and isinstance(first, ast.Constant) and isinstance(first.value, str):
                found.add(first.value)
    return found


def named_in_the_docs() -> set[str]:
    """Returns the names in the picture of a store's directory."""
    picture = FORMAT.read_text().split("```")[1]
    lines = [line for line in picture.splitlines() if re.match(r"  \S", line)]
    names = [re.split("  +", line.strip())[0] for line in lines]
    return {name.strip().rstrip("/") for line in names for name in line.split(",")}


def test_every_file_that_the_source_names_is_known() -> None:
    names = named_in_the_source()
    assert {"trust", "pending", "journal", "stat", "ledger.db"} & names
    assert names <= KNOWN


def test_every_file_that_the_docs_name_is_known_and_the_other_way_round() -> None:
    documented = named_in_the_docs()
    assert {"format", "store.git", "log"} <= documented
    assert documented <= KNOWN
    of_the_index = {name for name in KNOWN if name.startswith("ledger.db-")}
    assert {"purge", "purged"} <= documented
    assert KNOWN - documented <= {*of_the_index, "purged.new"}
