"""Whichever library compresses, git and our reader find the same objects."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from takeback.git import pack
from takeback.git.objects import BLOB, object_id
from takeback.git.pack import PackWriter, installed
from takeback.git.packs import Packs
from takeback.git.process import Git


@pytest.fixture(params=["zlib", "isal"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Has everything compressed by one of the two."""
    if request.param == "isal":
        pytest.importorskip("isal")
        monkeypatch.setattr(pack, "_WORTH_LOADING", 1)
    else:
        monkeypatch.setattr(pack, "installed", lambda: None)
    return str(request.param)


def contents() -> list[bytes]:
    chance = random.Random(1)
    words = b" ".join(chance.choice([b"alpha", b"beta", b"gamma"]) for _ in range(40_000))
    return [b"", b"x", words, bytes(1 << 20), *map(chance.randbytes, (1, 255, 70_000, 3 << 20))]


def test_objects_read_back_whichever_library_compressed_them(
    git: Git, tmp_path: Path, library: str
) -> None:
    writer = PackWriter(f"{git.git_dir}/objects/pack")
    whole, streamed = contents(), [data + b"as a stream" for data in contents()]
    for data in whole:
        assert writer.add(BLOB, data) == object_id(BLOB, data)
    for data in streamed:
        (tmp_path / "f").write_bytes(data)
        fd = os.open(tmp_path / "f", os.O_RDONLY)
        assert writer.add_stream(BLOB, fd, len(data)) == object_id(BLOB, data)
        os.close(fd)
    (name,) = writer.finish()
    git.run(["index-pack", "--strict", "--verify", f"{git.git_dir}/objects/pack/{name}.pack"])
    packs = Packs(f"{git.git_dir}/objects")
    for data in whole + streamed:
        assert packs.read(object_id(BLOB, data)) == (BLOB, data)
        assert git.run(["cat-file", "blob", object_id(BLOB, data).hex()]) == data
    packs.close()


def test_little_is_compressed_without_looking_for_another_library(
    git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []
    monkeypatch.setattr(pack, "installed", lambda: looked.append(1))
    writer = PackWriter(f"{git.git_dir}/objects/pack")
    for number in range(14):
        writer.add(BLOB, bytes(100_000 + number))
    assert not looked
    for number in range(2):
        writer.add(BLOB, bytes((4 << 20) + number))
    assert looked == [1]
    writer.abort()


def test_a_library_that_is_planted_in_the_project_is_not_loaded(workspace_of_a_model: Path) -> None:
    code = (
        "import sys; sys.path.append(sys.argv[1])\n"
        "from takeback.git.pack import installed; print(getattr(installed(), '__file__', ''))"
    )
    source = Path(pack.__file__).parents[2]
    spoken = subprocess.run(
        [sys.executable, "-c", code, str(source)],
        cwd=workspace_of_a_model,
        capture_output=True,
        text=True,
        check=True,
    )
    expected = installed()
    assert spoken.stdout.strip() == (expected.__file__ if expected is not None else "")
    assert not (workspace_of_a_model / "witness").exists()


@pytest.fixture
def workspace_of_a_model(tmp_path: Path) -> Path:
    (tmp_path / "isal").mkdir()
    for name in ("__init__.py", "isal_zlib.py"):
        (tmp_path / "isal" / name).write_text("open('witness', 'w')\n")
    return tmp_path


def test_a_library_for_another_python_is_as_good_as_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib.machinery
    import sysconfig

    for name in [name for name in sys.modules if name.partition(".")[0] == "isal"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    assert installed() is None
    (tmp_path / "isal").mkdir()
    assert installed() is None
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
    (tmp_path / "isal" / "__init__.py").write_text("import isal._isal")
    (tmp_path / "isal" / f"_isal{suffix}").write_bytes(b"not a library")
    assert installed() is None
