"""Settings that do not read: what is known of them is in force, the rest is not guessed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from takeback import config
from takeback.config import SettingsFile, compiled, edits
from takeback.errors import UsageError


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SettingsFile:
    """Good settings that were read once, in a process that has read nothing yet."""
    monkeypatch.setattr(compiled, "_SETTLED", -60.0)
    monkeypatch.setattr(compiled, "_seen", {})
    path = tmp_path / "config.toml"
    path.write_text('exclude = ["secret"]\nsensitive = "skip"\nmax_age_days = 0\n')
    made = SettingsFile(str(path), lambda: str(tmp_path / "settings.compiled"))
    config.load([made])
    compiled._seen.clear()
    return made


def test_what_reads_by_itself_counts_and_what_it_last_said_fills_the_gaps(
    file: SettingsFile,
) -> None:
    Path(file.path).write_text(
        """keep_newest = 3
exclude = ["secret", "more
sensitve = "keep"
only = [  # on several lines
  "~/work",
]
max_snapshots = -1
"""
    )
    found = config.load([file])
    assert [damage.is_known for damage in found.damage] == [True]
    assert found.unknown is None
    assert found["keep_newest"] == 3
    assert found["exclude"] == ["secret"]
    assert found["sensitive"] == "skip"
    assert found["only"] == ["~/work"]
    assert found["max_snapshots"] == 0
    assert found.bounds().max_age == 0


def test_a_value_of_a_table_is_no_setting(file: SettingsFile) -> None:
    Path(file.path).write_text('[table]\nexclude = []\nsensitive = "keep"\n')
    found = config.load([file])
    assert (found["exclude"], found["sensitive"]) == (["secret"], "skip")


def test_without_any_word_from_before_nothing_is_guessed(file: SettingsFile) -> None:
    os.unlink(file.compiled())
    Path(file.path).write_text('exclude = ["secret\n')
    found = config.load([file])
    assert found.unknown is not None
    assert file.path in found.policy().unknown
    assert "nothing is captured" in found.policy().unknown


def test_what_is_no_file_is_said_and_never_waited_for(file: SettingsFile, tmp_path: Path) -> None:
    path = Path(file.path)
    path.unlink()
    assert config.load([file]).damage == (), "no settings are no damage"
    path.symlink_to(tmp_path / "nowhere")
    assert len(config.load([file]).damage) == 1
    path.unlink()
    path.symlink_to("/dev/zero")
    assert len(config.load([file]).damage) == 1
    path.unlink()
    os.mkfifo(path)
    assert len(config.load([file]).damage) == 1
    path.unlink()
    path.mkdir()
    found = config.load([file])
    assert len(found.damage) == 1
    assert found["exclude"] == ["secret"]
    path.rmdir()
    path.write_bytes(b"# " + b"x" * (2 << 20))
    assert len(config.load([file]).damage) == 1


def test_what_is_no_file_is_not_waited_for_by_who_writes_either(
    file: SettingsFile, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for name in ("pipe", "binary"):
        with pytest.raises(UsageError, match=name):
            edits.written(str(tmp_path / name), "keep_newest", 3)
