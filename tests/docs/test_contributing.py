"""What CONTRIBUTING says of the house is so."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from scripts.behaviours import BEHAVIOURS, TESTS, numbered
from scripts.layers import ABOUT, layers
from scripts.targets import targets
from tests.support.source import tree_of

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "takeback"
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
FORBIDDEN_NAMES = {"utils", "helpers", "common", "manager", "handler", "base"}


def modules() -> list[tuple[Path, ast.Module]]:
    return [(path, tree_of(path)) for path in sorted(SOURCE.rglob("*.py"))]


def test_every_behaviour_is_tried_and_every_number_is_a_behaviour() -> None:
    tests = numbered()
    assert set(tests) <= {one.number for one in BEHAVIOURS}
    for one in BEHAVIOURS:
        assert one.number in tests or one.files, one
        assert [name for name in one.files if not (TESTS / name).exists()] == []
    assert len({one.number for one in BEHAVIOURS}) == len(BEHAVIOURS)


def test_every_layer_that_is_described_is_there() -> None:
    drawn = {name for names in layers() for name in names}
    assert drawn == set(ABOUT)
    there = {path.stem for path in SOURCE.glob("*.py")}
    there |= {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert drawn <= there


def test_each_make_target_says_what_it_does() -> None:
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony is not None
    assert set(phony[1].split()) == set(targets())


def test_each_directory_of_tests_is_a_package_of_the_source_or_is_described() -> None:
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    described = set(re.findall(r"\| `tests/([a-z]+)/` \|", PAGE))
    there = {path.name for path in TESTS.iterdir() if path.is_dir() and path.name[0] not in "_."}
    assert there - packages == described - packages
    assert described <= there


def test_modules_have_names_that_say_something() -> None:
    assert [path for path, _ in modules() if path.stem in FORBIDDEN_NAMES] == []


def test_values_are_no_dataclasses() -> None:
    using = [
        path.name
        for path, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom | ast.Import)
        and "dataclasses" in {getattr(node, "module", None), *(one.name for one in node.names)}
    ]
    assert using == []


def test_no_test_replaces_code_of_our_own() -> None:
    found = [
        str(path.relative_to(ROOT))
        for path in sorted(TESTS.rglob("*.py"))
        if re.search(r"^(from|import) unittest\.mock|\bMagicMock\b", path.read_text(), re.MULTILINE)
        and path != Path(__file__)
    ]
    assert found == []


def test_each_kind_of_lane_is_used() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    marks = [line.partition(":")[0] for line in project["tool"]["pytest"]["ini_options"]["markers"]]
    text = "\n".join(path.read_text() for path in sorted(TESTS.rglob("*.py")))
    for mark in marks:
        assert f"pytest.mark.{mark}" in text, mark


def test_the_pythons_that_are_named_are_those_that_ci_tries() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = set(re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"])))
    tried = set(re.findall(r'"(3\.\d+)"', (ROOT / ".github/workflows/ci.yml").read_text()))
    assert named <= tried
    assert all(one in (ROOT / "README.md").read_text() for one in named)
    assert project["requires-python"] == ">=" + min(named, key=lambda one: int(one[2:]))


@pytest.mark.parametrize("script", [".ci/run", "scripts/prerequisites.sh", "scripts/room.sh"])
def test_scripts_can_be_run(script: str) -> None:
    assert subprocess.run(["bash", "-n", ROOT / script], check=False).returncode == 0
