"""How large the house is: both figures only ever go down."""

from __future__ import annotations

from tests.docs.test_house import ROOT, rooms, source_modules, text_of

MODULES = 339
LINES = 85_591
IN_A_ROOM = 20


def test_the_house_does_not_grow() -> None:
    modules = source_modules()
    assert len(modules) <= MODULES
    assert sum(len(text_of(path).splitlines()) for path in modules) <= LINES


def test_a_room_is_one_module_or_a_few() -> None:
    folders = [path.parent for path in rooms() if path.parent != ROOT / "src/takeback"]
    assert {folder for folder in folders if folders.count(folder) > IN_A_ROOM} == set()
