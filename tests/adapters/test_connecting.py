"""Settings are edited in one instant, and become what they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from takeback.adapters import connecting
from takeback.errors import WriteFailed
from takeback.model.agent import FileEdit


class Settings:
    """A settings file with lines of its owner's, to which ``init`` adds one of ours."""

    def __init__(self, path: Path, home: Path) -> None:
        self.path = path
        self.home = str(home)

    def connect(self, here: str | None = None) -> None:
        before = connecting.read(str(self.path))
        after = (
            before if before is not None and b"ours\n" in before else (before or b"") + b"ours\n"
        )
        edits = connecting.located([FileEdit(str(self.path), before, after)], None)
        connecting.apply(edits, [self.without()], self.home, "x", here)

    def disconnect(self) -> None:
        edits = connecting.take_back([self.without()], self.home, "x")
        connecting.withdraw(connecting.located(edits, None), self.home, "x")

    def without(self) -> FileEdit:
        before = connecting.read(str(self.path))
        after = None if before is None else before.replace(b"ours\n", b"")
        return FileEdit(str(self.path), before, after)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(tmp_path / "agent" / "settings.json", tmp_path / "takeback")


def kept(settings: Settings) -> list[Path]:
    """Returns what is in our own home."""
    return sorted(path for path in Path(settings.home).rglob("*") if path.is_file())


def test_a_file_that_was_not_there_is_removed_with_the_directories_made_for_it(
    settings: Settings, tmp_path: Path
) -> None:
    settings.connect()
    assert settings.path.read_bytes() == b"ours\n"
    assert settings.path.stat().st_mode & 0o777 == 0o600
    settings.disconnect()
    assert not (tmp_path / "agent").exists()
    assert kept(settings) == []


def test_a_directory_in_which_something_else_is_stays(settings: Settings) -> None:
    settings.connect()
    (settings.path.parent / "theirs").write_text("")
    settings.disconnect()
    assert [path.name for path in settings.path.parent.iterdir()] == ["theirs"]


@pytest.mark.parametrize("old", [b"", b"mine", b"mine\r\n\xff\n"])
def test_a_file_that_nobody_touched_gets_its_old_bytes_and_keeps_its_mode(
    settings: Settings, old: bytes
) -> None:
    settings.path.parent.mkdir()
    settings.path.write_bytes(old)
    settings.path.chmod(0o640)
    settings.connect()
    assert settings.path.read_bytes() == old + b"ours\n"
    assert settings.path.stat().st_mode & 0o777 == 0o640
    settings.disconnect()
    assert settings.path.read_bytes() == old
    assert settings.path.stat().st_mode & 0o777 == 0o640
    assert settings.path.parent.exists()


def test_a_plain_copy_is_kept_for_a_person_to_put_back(settings: Settings) -> None:
    settings.path.parent.mkdir()
    settings.path.write_bytes(b"mine\n")
    settings.connect()
    [copy] = [path for path in kept(settings) if path.name.endswith("-settings.json")]
    assert copy.read_bytes() == b"mine\n"
    assert copy.stat().st_mode & 0o777 == 0o600


def test_what_somebody_wrote_since_stays(settings: Settings) -> None:
    settings.path.parent.mkdir()
    settings.path.write_bytes(b"mine\n")
    settings.connect()
    settings.path.write_bytes(b"mine\nours\nnewer\n")
    settings.disconnect()
    assert settings.path.read_bytes() == b"mine\nnewer\n"
    assert kept(settings) == []


def test_what_somebody_wrote_between_two_connections_stays(settings: Settings) -> None:
    settings.path.parent.mkdir()
    settings.path.write_bytes(b"mine\n")
    settings.connect()
    settings.path.write_bytes(b"newer\n")
    settings.connect()
    assert settings.path.read_bytes() == b"newer\nours\n"
    settings.disconnect()
    assert settings.path.read_bytes() == b"newer\n"


def test_connecting_twice_still_leads_back_to_the_first(settings: Settings) -> None:
    settings.path.parent.mkdir()
    settings.path.write_bytes(b"mine")
    settings.connect()
    before = settings.path.read_bytes()
    edit = FileEdit(str(settings.path), before, before + b"ours, of a later version\n")
    edits = connecting.located([edit], None)
    connecting.apply(edits, [settings.without()], settings.home, "x", None)
    settings.disconnect()
    assert settings.path.read_bytes() == b"mine"


def test_a_link_stays_a_link(settings: Settings, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "settings.json"
    real.parent.mkdir()
    real.write_bytes(b"mine\n")
    settings.path.parent.mkdir()
    settings.path.symlink_to(real)
    settings.connect()
    assert settings.path.is_symlink()
    assert real.read_bytes() == b"mine\nours\n"
    settings.disconnect()
    assert settings.path.is_symlink()
    assert real.read_bytes() == b"mine\n"


def test_a_file_that_was_deleted_since_stays_deleted(settings: Settings) -> None:
    settings.path.parent.mkdir()
    settings.path.write_bytes(b"mine\n")
    settings.connect()
    settings.path.unlink()
    settings.disconnect()
    assert not settings.path.exists()
    assert kept(settings) == []


def test_it_is_remembered_for_which_project_it_was(settings: Settings) -> None:
    settings.connect(here="/home/dev/project")
    [found] = connecting.remembered(settings.home, "x").values()
    assert found.here == "/home/dev/project"


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"p": 1}', b'{"p": {"made": []}}'])
def test_a_damaged_memory_is_none(settings: Settings, data: bytes) -> None:
    settings.connect()
    (Path(settings.home) / "connected" / "x.json").write_bytes(data)
    assert connecting.remembered(settings.home, "x") == {}
    settings.disconnect()
    assert settings.path.read_bytes() == b""


def test_what_cannot_be_read_or_written_is_said(settings: Settings, tmp_path: Path) -> None:
    settings.path.mkdir(parents=True)
    with pytest.raises(WriteFailed, match=r"cannot read .*settings\.json: Is a directory"):
        connecting.read(str(settings.path))
    (tmp_path / "file").write_text("")
    below = Settings(tmp_path / "file" / "settings.json", tmp_path / "takeback")
    with pytest.raises(WriteFailed, match=r"cannot write .*: Not a directory"):
        below.connect()
