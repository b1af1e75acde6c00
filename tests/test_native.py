"""What is written in C is compiled where there is a compiler, else Python does the same."""

from __future__ import annotations

import shutil
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def hook() -> ModuleType:
    pytest.importorskip("hatchling")
    spec = spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def native(hook: ModuleType, tmp_path: Path) -> Path:
    """A copy of the sources."""
    for source, _, _ in hook.PARTS:
        shutil.copy(ROOT / hook.NATIVE / source, tmp_path)
    return tmp_path


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_each_part_is_compiled(hook: ModuleType, native: Path) -> None:
    assert hook.build(native) == [native / output for _, output, _ in hook.PARTS]


def test_without_a_compiler_nothing_is_made(
    hook: ModuleType, native: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted(native.iterdir())
    for compiler in ("no-such-compiler", "false"):
        monkeypatch.setenv("CC", compiler)
        assert hook.build(native) == []
        assert sorted(native.iterdir()) == before
