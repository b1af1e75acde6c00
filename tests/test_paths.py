"""Where takeback keeps things."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

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


def test_a_relative_home_is_made_absolute_so_that_a_chdir_does_not_move_it(tmp_path: Path) -> None:
    assert takeback_home({"TAKEBACK_HOME": "stores"}) == os.path.abspath("stores")


def test_the_settings_follow_xdg() -> None:
    assert config_file({"HOME": "/h"}) == "/h/.config/takeback/config.toml"
    assert config_file({"HOME": "/h", "XDG_CONFIG_HOME": "/c"}) == "/c/takeback/config.toml"


def test_the_users_home_is_told_by_its_real_path(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "home")
    assert user_home({"HOME": str(tmp_path / "link")}) == os.fsencode((tmp_path / "home").resolve())


def test_without_home_the_password_file_says_it() -> None:
    assert takeback_home({}).endswith("/.local/share/takeback")
    assert takeback_home({}).startswith("/")
