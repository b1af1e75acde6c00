"""What is written in C is built where there is a compiler, and missed nowhere else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from scripts.native import PARTS, Part, build
from takeback import handover

NATIVE = Path(__file__).parents[2] / "src" / "takeback" / "native"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A copy of the sources, with a client that was built of an older one."""
    place = tmp_path / "native"
    shutil.copytree(NATIVE, place, ignore=shutil.ignore_patterns("built"))
    (place / "built").mkdir()
    for part in PARTS:
        (place / "built" / part.output).write_bytes(b"old")
    return place


needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


@needs_compiler
def test_every_part_is_built_and_no_other_file_is_left(sources: Path) -> None:
    found = build(sources, dict(os.environ))
    assert found == [sources / "built" / part.output for part in PARTS]
    assert sorted(sources.glob("built/*")) == sorted(found)
    subprocess.run([sources / "built" / "hook", "--runs"], check=True)


@needs_compiler
@pytest.mark.parametrize("part", PARTS, ids=[part.source for part in PARTS])
def test_a_compiler_has_no_complaint(sources: Path, tmp_path: Path, part: Part) -> None:
    source = sources / part.source
    strict = ["-O2", "-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wvla", "-c"]
    subprocess.run(["cc", *strict, "-o", str(tmp_path / "o"), str(source)], check=True)


@pytest.mark.parametrize("compiler", ["/nowhere/cc", "false", "sh -c 'exit 0' --"])
def test_without_a_compiler_that_works_nothing_is_built_and_nothing_fails(
    sources: Path, compiler: str
) -> None:
    assert build(sources, {**os.environ, "CC": compiler}) == []
    assert list(sources.glob("built/*")) == []


@needs_compiler
def test_what_does_not_compile_is_left_out(
    sources: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (sources / "hook.c").write_text("int main(void) { return nothing; }\n")
    assert sources / "built" / "hook" not in build(sources, dict(os.environ))
    assert "hook.c does not compile here; Python does its work" in capfd.readouterr().err


def test_both_clients_speak_the_same() -> None:
    text = (NATIVE / "hook.c").read_text()

    def table(name: str) -> list[str]:
        found = re.search(rf"{name}\[\] = {{(.*?)}};", text, re.DOTALL)
        assert found is not None
        return re.findall(r'"([^"]*)"', found[1])

    assert table("places") == [place.decode() for place in handover.PLACES]
    assert table("namespaces") == list(handover.NAMESPACES)
    assert table("rights") == [right.decode() for right in handover.RIGHTS]
    assert f'#define PROTOCOL "{handover.PROTOCOL}"' in text
    assert f'"{handover.WAITED.decode()}"' in text
    assert handover.LONGEST == 1 << 20
    assert "#define LONGEST (1u << 20)" in text
