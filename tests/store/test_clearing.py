"""What is takeback's own is deleted, and nothing that a link leads to."""

from __future__ import annotations

from pathlib import Path

import pytest

from takeback.store.journal import delete_below


def test_everything_goes(tmp_path: Path) -> None:
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_text("x")
    (tmp_path / "lock").write_text("x")
    delete_below(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_no_link_is_followed_at_the_top_or_below(tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    theirs.mkdir()
    (theirs / "work").write_text("x")
    ours.symlink_to(theirs)
    with pytest.raises(OSError, match=r"directory|links"):
        delete_below(str(ours))
    ours.unlink()
    ours.mkdir()
    (ours / "link").symlink_to(theirs)
    delete_below(str(ours))
    assert list(ours.iterdir()) == []
    assert (theirs / "work").read_text() == "x"
