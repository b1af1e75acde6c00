"""What was read of a settings file is kept for hooks, and never believed against the file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from takeback import config
from takeback.config import SettingsFile, compiled


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SettingsFile:
    """A settings file that counts as old enough, in a process that has read nothing yet."""
    monkeypatch.setattr(compiled, "_SETTLED", -60.0)
    monkeypatch.setattr(compiled, "_seen", {})
    path = tmp_path / "config.toml"
    path.write_text('hook_seconds = 2.5\nnever = ["~/a", "b\\u00e9"]\nforeign_owner = true\n')
    return SettingsFile(str(path), lambda: str(tmp_path / "settings.compiled"))


def values(file: SettingsFile) -> tuple[object, ...]:
    loaded = config.load([file])
    return tuple(loaded[name] for name in ("hook_seconds", "never", "foreign_owner", "only"))


def forget() -> None:
    """What a new process knows."""
    compiled._seen.clear()


def forbid_parsing(monkeypatch: pytest.MonkeyPatch) -> None:
    def text(self: compiled.CompiledSettings) -> str:
        raise AssertionError("it was parsed")

    monkeypatch.setattr(compiled.CompiledSettings, "text", text)


def test_the_next_process_need_not_parse_it(
    file: SettingsFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = values(file)
    assert first == (2.5, ["~/a", "b\u00e9"], True, ())
    assert os.stat(file.compiled()).st_mode & 0o777 == 0o600
    forget()
    forbid_parsing(monkeypatch)
    assert values(file) == first
    os.unlink(file.compiled())
    assert values(file) == first  # this process has read it


def test_a_changed_file_is_read_anew(file: SettingsFile) -> None:
    path = Path(file.path)
    for number in range(3):
        path.write_text(f"hook_seconds = {number}\n")
        forget()
        assert values(file)[0] == number
        status = path.stat()
        path.write_text(f"hook_seconds = {number + 5}\n")  # as long, and with the same mtime
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert values(file)[0] == number + 5
    other = path.with_name("other")
    other.write_text("hook_seconds = 9\n")
    other.replace(path)
    assert values(file)[0] == 9
    path.unlink()
    assert values(file)[0] == 5  # the default


def test_a_file_that_was_just_changed_is_not_kept(
    file: SettingsFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "_SETTLED", 60.0)
    assert values(file)[0] == 2.5
    assert not os.path.exists(file.compiled())
    assert compiled._seen == {}


def test_what_is_not_ours_or_not_whole_is_not_believed(file: SettingsFile) -> None:
    first = values(file)
    kept = Path(file.compiled())
    good = kept.read_bytes()
    wrong = good.replace(b"2.5", b"4.5")
    body = wrong.partition(b"\n")[2]
    forged = compiled._digest(body) + b"\n" + body

    def believed() -> bool:
        forget()
        found = values(file)
        assert found[0] in (2.5, 4.5)
        return found != first

    for data in (
        wrong,
        b"",
        good[:-3],
        b"\0" * 40,
        b"\n",
        b"[]",
        compiled._digest(b"[]") + b"\n[]",
    ):
        kept.write_bytes(data)
        assert not believed(), data
        assert kept.read_bytes() == good
    kept.write_bytes(forged.replace(b"config.toml", b"other.toml"))
    assert not believed()
    kept.write_bytes(forged)
    kept.chmod(0o666)
    assert not believed()
    kept.unlink()
    (kept.parent / "elsewhere").write_bytes(forged)
    kept.symlink_to("elsewhere")
    assert not believed()
    kept.unlink(missing_ok=True)
    os.mkfifo(kept)
    assert not believed()
    kept.unlink(missing_ok=True)
    kept.write_bytes(forged)
    assert believed()  # so that it was the above that kept it from being believed


def test_settings_that_are_wrong_are_not_kept(file: SettingsFile) -> None:
    for text in ("hook_seconds = -1\n", "nothing = 1\n", "hook_seconds =\n", "\xff"):
        Path(file.path).write_text(text, encoding="latin-1")
        assert len(config.load([file]).damage) == 1
        assert not os.path.exists(file.compiled())


def test_where_nothing_can_be_kept_it_is_parsed(file: SettingsFile) -> None:
    nowhere = file.replace(compiled=lambda: f"{file.path}/no/directory")
    assert values(nowhere) == values(file.replace(compiled=str))
