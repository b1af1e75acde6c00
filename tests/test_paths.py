"""Where takeback keeps things."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from takeback.errors import UsageError
from takeback.paths import config_file, takeback_home, user_home


@pytest.mark.parametrize(
    ("environ", "home"),
    [
        ({"HOME": "/h"}, "/h/.local/share/takeback"),
        ({"HOME": "/h", "XDG_DATA_HOME": "/d"}, "/d/takeback"),
        ({"HOME": "/h", "XDG_DATA_HOME": ""}, "/h/.local/share/takeback"),
        ({"HOME": "/h", "XDG_DATA_HOME": "/d", "TAKEBACK_HOME": "/t"}, "/t"),
        ({"HOME": "/h", "TAKEBACK_HOME": ""}, "/h/.local/share/takeback"),
        ({"HOME": "/h", "TAKEBACK_HOME": "/t/x/.."}, "/t"),
    ],
)
def test_the_home_of_the_stores_follows_the_environment(environ: dict[str, str], home: str) -> None:
    assert takeback_home(environ) == home


def test_a_relative_home_is_refused_since_a_chdir_would_move_it() -> None:
    with pytest.raises(UsageError, match="must be an absolute path, not 'stores'"):
        takeback_home({"TAKEBACK_HOME": "stores"})


def test_relative_places_of_xdg_count_as_none() -> None:
    environ = {"HOME": "/h", "XDG_DATA_HOME": "data", "XDG_CONFIG_HOME": "./config"}
    assert takeback_home(environ) == "/h/.local/share/takeback"
    assert config_file(environ) == "/h/.config/takeback/config.toml"


def test_the_settings_follow_xdg() -> None:
    assert config_file({"HOME": "/h"}) == "/h/.config/takeback/config.toml"
    assert config_file({"HOME": "/h", "XDG_CONFIG_HOME": "/c"}) == "/c/takeback/config.toml"


def test_the_users_home_is_told_by_its_real_path(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "home")
    assert user_home({"HOME": str(tmp_path / "link")}) == os.fsencode((tmp_path / "home").resolve())


@pytest.mark.parametrize("environ", [{}, {"HOME": ""}, {"HOME": "here"}, {"HOME": "~"}])
def test_without_home_the_password_file_says_it(environ: dict[str, str]) -> None:
    assert takeback_home(environ).endswith("/.local/share/takeback")
    assert takeback_home(environ).startswith("/")


def test_without_any_home_it_is_said_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 54321)
    with pytest.raises(UsageError, match="there is no home directory") as raised:
        takeback_home({})
    assert "set HOME" in raised.value.hint
    with pytest.raises(UsageError):
        config_file({"TAKEBACK_HOME": "/t"})
    assert user_home({}) == b""
    assert takeback_home({"TAKEBACK_HOME": "/t"}) == "/t"
