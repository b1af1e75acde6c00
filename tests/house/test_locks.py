"""What single tests install is pinned, by version and by hash, and says nothing of where from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import pypi
from tests.support.cache import NotInstalled

WANTED = sorted(pypi.LOCKS.glob("*.in"))


@pytest.mark.parametrize("wanted", WANTED, ids=lambda path: path.stem)
def test_what_is_wanted_is_pinned_with_its_hashes(wanted: Path) -> None:
    names = wanted.read_text().split()
    pinned = wanted.with_suffix(".txt").read_text()
    assert all("==" in name for name in names)
    assert [name for name in names if f"{name} \\\n    --hash=sha256:" not in pinned] == []
    assert "://" not in pinned


def test_what_cannot_be_installed_says_why_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wrong.txt").write_text("no-such-file.whl --hash=sha256:00\n")
    monkeypatch.setattr(pypi, "LOCKS", tmp_path)
    with pytest.raises(NotInstalled, match="pip ended with 1: ERROR"):
        pypi.packages("wrong", {"TAKEBACK_AGENTS_CACHE": str(tmp_path / "cache")})
    assert [path.suffix for path in (tmp_path / "cache").iterdir()] == [".lock"]
