"""Every face marks files whose names speak of a secret: no list of files goes without."""

from __future__ import annotations

import re
from pathlib import Path

import takeback

SOURCE = Path(takeback.__file__).parent
UNMARKED = re.compile(r"\bshown_path\((?:\w+\.)?path\)(?!.*\bmark\()|\bpath_fields\(\w+\.path\)")
OTHERWISE = {
    "words/text.py",  # where the mark is added
    "words/earlier.py",  # another workspace's directory
    "words/pruning.py",  # a workspace whose directory is gone
    "cli/commands/demo.py",  # files that the demo made itself
    "tui/detail/view.py",  # a name that only chooses the language of the colours
}


def test_a_file_is_named_by_what_marks_it() -> None:
    found = [
        f"{name}:{number}: {line.strip()}"
        for path in sorted(SOURCE.rglob("*.py"))
        if (name := path.relative_to(SOURCE).as_posix()) not in OTHERWISE
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if UNMARKED.search(line)
    ]
    assert found == []
