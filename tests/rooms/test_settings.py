"""One value of one settings file, set and removed, whoever asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from takeback.check.settings import edit_for_all, edit_for_workspace, set_setting
from takeback.errors import WriteFailed


def test_a_setting_is_set_and_removed_and_the_rest_of_the_file_stays(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("# mine\nlock_wait_seconds = 3\n")
    set_setting(edit_for_workspace(str(tmp_path), "capture", "off"))
    assert file.read_text() == '# mine\nlock_wait_seconds = 3\ncapture = "off"\n'
    set_setting(edit_for_workspace(str(tmp_path), "capture", None))
    assert file.read_text() == "# mine\nlock_wait_seconds = 3\n"


def test_a_link_to_the_settings_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles.toml").write_text("# mine\n")
    folder = tmp_path / "takeback"
    folder.mkdir()
    (folder / "config.toml").symlink_to(tmp_path / "dotfiles.toml")
    edit = edit_for_all({"XDG_CONFIG_HOME": str(tmp_path)}, "ignored", "off")
    set_setting(edit)
    assert (folder / "config.toml").is_symlink()
    assert (tmp_path / "dotfiles.toml").read_text() == '# mine\nignored = "off"\n'


def test_what_cannot_be_written_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    with pytest.raises(WriteFailed, match="writing the settings"):
        set_setting(edit_for_workspace(str(tmp_path / "file"), "capture", "off"))
