"""Settings that do not read: what is known of them is in force, the rest is not guessed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from takeback import config
from takeback.config import SettingsFile, compiled, edits
from takeback.config.damage import CLOSED
from takeback.errors import SettingsUnknown, UsageError


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
    found.require_known("exclude", "sensitive")
    assert found["keep_newest"] == 3
    assert found["exclude"] == ["secret"]
    assert found["sensitive"] == "skip"
    assert found["only"] == ["~/work"]
    assert found["max_snapshots"] == 0
    assert found["max_age_days"] == 0
    with pytest.raises(SettingsUnknown, match="until it is mended nothing is dropped"):
        found.bounds()


def test_a_value_of_a_table_is_no_setting(file: SettingsFile) -> None:
    Path(file.path).write_text('[table]\nexclude = []\nsensitive = "keep"\n')
    found = config.load([file])
    assert (found["exclude"], found["sensitive"]) == (["secret"], "skip")


def test_without_any_word_from_before_nothing_is_guessed(file: SettingsFile) -> None:
    os.unlink(file.compiled())
    Path(file.path).write_text('exclude = ["secret\n')
    found = config.load([file])
    with pytest.raises(SettingsUnknown):
        found.require_known("exclude")
    found.require_known("never", "only", "capture")
    assert file.path in found.policy().unknown
    assert "nothing is captured" in found.policy().unknown


@pytest.fixture
def new(file: SettingsFile) -> SettingsFile:
    """A file of which nothing is known from before."""
    os.unlink(file.compiled())
    return file


def reasons(settings: config.Settings) -> str:
    return "; ".join(one.reason for one in settings.damage)


def test_a_setting_that_nobody_knows_is_named_and_passed_over(new: SettingsFile) -> None:
    """It may be of a newer version: it stopped every capture."""
    Path(new.path).write_text('keep_newest = 3\nkept_for_ever = ["main"]\n[remote]\nat = "x"\n')
    found = config.load([new])
    assert found["keep_newest"] == 3
    assert found.policy().unknown == ""
    assert found.closed == frozenset()
    assert "there is no setting 'kept_for_ever'" in reasons(found)
    assert "there is no setting 'remote'" in reasons(found)
    assert not Path(new.compiled()).exists(), "what is wrong is said each time"
    with pytest.raises(SettingsUnknown):
        found.bounds()
    Path(new.path).write_text("keep_newest = 3\n")
    assert config.load([new]).bounds().keep_newest == 3


def test_a_value_that_does_not_read_is_what_it_was_last_or_the_default(file: SettingsFile) -> None:
    Path(file.path).write_text('exclude = ["secret"]\nmax_age_days = "a year"\nkeep_newest = -1\n')
    found = config.load([file])
    assert (found["max_age_days"], found["keep_newest"]) == (0, 20)
    assert "max_age_days must be a number" in reasons(found)
    assert "what it last said is in force" in reasons(found)
    assert "its default is in force" in reasons(found)
    assert found.policy().unknown == ""


@pytest.mark.parametrize("broken", ['= "~/secret', "= 5", '["~/secret"]', '= "~/sécret"'])
@pytest.mark.parametrize("name", sorted(CLOSED))
def test_what_may_forbid_something_is_not_done_where_it_does_not_read(
    new: SettingsFile, name: str, broken: str
) -> None:
    Path(new.path).write_bytes(f"keep_newest = 3\n{name} {broken}\n".encode("latin-1"))
    found = config.load([new])
    assert found["keep_newest"] == 3
    assert found.closed == {name}
    assert CLOSED[name][1] in reasons(found)
    with pytest.raises(SettingsUnknown):
        found.require_known(name)
    assert bool(found.policy().unknown) == (name == "exclude")
    assert found.policy().skip_sensitive == (name == "sensitive")
    assert found.policy().conversation == (name != "conversation")
    assert found.policy().capture == (name != "capture")
    assert (found.policy().ignored == "off") == (name == "ignored")


def test_one_slip_in_the_name_of_what_forbids_still_forbids(new: SettingsFile) -> None:
    Path(new.path).write_text('nevr = ["~/work"]\nexcludes = ["*.key"]\nConversation = "of"\n')
    found = config.load([new])
    assert (found["never"], found["exclude"]) == (["~/work"], ["*.key"])
    assert found.closed == {"conversation"}
    assert "there is no setting 'nevr', it is taken for never" in reasons(found)
    Path(new.path).write_text('sensitve = "keep"\n')
    found = config.load([new])
    assert found["sensitive"] == "keep"
    assert not found.closed
    assert "'sensitve' (did you mean sensitive?), it is passed over" in reasons(found)


def test_what_is_said_twice_is_not_said(new: SettingsFile) -> None:
    Path(new.path).write_text('never = ["~/a"]\nnever = ["~/b"]\n')
    assert config.load([new]).closed == {"never"}


def test_what_the_workspace_says_well_is_known_whatever_the_other_file_says(
    new: SettingsFile, tmp_path: Path
) -> None:
    Path(new.path).write_text("exclude = 1\nsensitive = 1\n")
    mine = tmp_path / "mine.toml"
    mine.write_text('exclude = ["a"]\n')
    found = config.load([new, SettingsFile(str(mine))])
    assert found["exclude"] == ["a"]
    assert found.closed == {"sensitive"}
    assert found.policy().unknown == ""


def test_nothing_is_guessed_of_a_file_that_cannot_be_read(new: SettingsFile) -> None:
    Path(new.path).unlink()
    Path(new.path).mkdir()
    found = config.load([new])
    assert found.closed == frozenset(CLOSED)
    assert "nothing is captured or dropped" in found.policy().unknown


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
