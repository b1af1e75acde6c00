"""How large the house is: both figures only ever go down."""

from __future__ import annotations

from tests.docs.test_house import ROOT, rooms, source_modules, text_of

MODULES = 338
LINES = 85_547
IN_A_ROOM = 20
FACES = {"acp", "app", "cli", "client", "mcp", "prompt_command", "serve", "stdio", "tui", "words"}
AGENTS = "adapters"


def test_the_house_does_not_grow() -> None:
    modules = source_modules()
    assert len(modules) <= MODULES
    assert sum(len(text_of(path).splitlines()) for path in modules) <= LINES


def test_a_room_is_one_module_or_a_few() -> None:
    folders = [path.parent for path in rooms() if path.parent != ROOT / "src/takeback"]
    assert {folder for folder in folders if folders.count(folder) > IN_A_ROOM} == set()


def test_no_two_modules_below_the_faces_have_one_name() -> None:
    inside = [path.relative_to(ROOT / "src/takeback") for path in source_modules()]
    names = [path.name for path in inside if path.parts[0] not in {*FACES, AGENTS}]
    assert {name for name in names if names.count(name) > 1} <= {"__init__.py"}
