"""Settings: the nearest file wins, a wrong value names its file, writing keeps the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from takeback import config
from takeback.config import SettingsFile, edits
from takeback.errors import UsageError
from takeback.model.coverage import Policy


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def test_without_files_the_settings_are_the_defaults_of_the_policy(file: Path) -> None:
    loaded = config.load([SettingsFile(str(file))])
    assert loaded.policy() == Policy()
    assert {loaded.origin(setting.name) for setting in config.SETTINGS} == {"default"}


def test_a_later_file_wins_and_each_value_says_where_it_came_from(tmp_path: Path) -> None:
    user, store = tmp_path / "user.toml", tmp_path / "store.toml"
    user.write_text('size_limit_mb = 7\nignored = "off"\n')
    store.write_text("size_limit_mb = 0.5\n")
    loaded = config.load([SettingsFile(str(user)), SettingsFile(str(store))])
    assert loaded.policy() == Policy(size_limit=1 << 19, ignored="off")
    assert [loaded.origin(name) for name in ("size_limit_mb", "ignored", "include")] == [
        str(store),
        str(user),
        "default",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "size_limit_mb = -1",
        "size_limit_mb = true",
        "size_limit_mb = nan",
        "size_limit_mb = inf",
        'size_limit_mb = "7"',
        'ignored = "sometimes"',
        "ignored = ['save']",
        "include = 'a'",
        "include = [1]",
        "foreign_owner = 1",
        "no_such_setting = 1",
        "[table]\nx = 1",
        "not toml",
        "\udcff",
    ],
)
def test_a_wrong_value_is_damage_that_names_the_file(file: Path, text: str) -> None:
    file.write_text(text, errors="surrogateescape")
    loaded = config.load([SettingsFile(str(file))])
    assert [damage.path for damage in loaded.damage] == [str(file)]
    assert loaded.policy().unknown == "", "captures go on"
    with pytest.raises(UsageError, match=r"config\.toml"):
        loaded.bounds()


@pytest.mark.parametrize(
    ("name", "typed", "value"),
    [
        ("size_limit_mb", "7", 7),
        ("size_limit_mb", "0.5", 0.5),
        ("foreign_owner", "Yes", True),
        ("foreign_owner", "off", False),
        ("ignored", "restore", "restore"),
        ("include", " *.env , build/x ,", ["*.env", "build/x"]),
        ("include", "", []),
    ],
)
def test_what_a_person_types_becomes_a_value(name: str, typed: str, value: object) -> None:
    assert edits.parse_value(name, typed) == value


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("size_limit_mb", "much"),
        ("size_limit_mb", "-1"),
        ("size_limit_mb", "inf"),
        ("foreign_owner", "maybe"),
        ("ignored", "on"),
        ("no_such", "1"),
    ],
)
def test_what_is_no_value_of_the_setting_is_a_usage_error(name: str, typed: str) -> None:
    with pytest.raises(UsageError, match=name):
        edits.parse_value(name, typed)


def test_an_unknown_setting_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UsageError) as raised:
        config.setting_named("size_limit")
    assert "size_limit_mb" in raised.value.hint


def test_writing_a_value_keeps_comments_and_other_lines(file: Path) -> None:
    file.write_text('# mine\nignored = "off" # why\nsize_limit_mb = 1\n')
    file.write_text(edits.written(str(file), "size_limit_mb", 2))
    file.write_text(edits.written(str(file), "include", ['a "quoted" \\ one']))
    assert file.read_text().startswith('# mine\nignored = "off" # why\nsize_limit_mb = 2\n')
    loaded = config.load([SettingsFile(str(file))])
    assert (loaded["ignored"], loaded["include"]) == ("off", ['a "quoted" \\ one'])


def test_writing_a_list_that_stood_on_several_lines_leaves_a_file_that_reads(file: Path) -> None:
    file.write_text('include = [\n  "a",  # first\n  "b",\n]\nsize_limit_mb = 1\n')
    file.write_text(edits.written(str(file), "include", ["x"]))
    loaded = config.load([SettingsFile(str(file))])
    assert (loaded["include"], loaded["size_limit_mb"]) == (["x"], 1)


_VALUES = st.one_of(
    st.tuples(st.just("size_limit_mb"), st.integers(0, 1 << 40)),
    st.tuples(st.just("lock_wait_seconds"), st.floats(0, 1e9)),
    st.tuples(st.just("foreign_owner"), st.booleans()),
    st.tuples(st.just("ignored"), st.sampled_from(["save", "restore", "off"])),
    st.tuples(st.just("exclude"), st.lists(st.text(st.characters(exclude_categories=["Cs"])))),
)


@settings(max_examples=100)
@example([("exclude", ["a\nb\t\x7f"])])
@given(st.lists(_VALUES, max_size=6))
def test_what_is_written_reads_back(
    tmp_path_factory: pytest.TempPathFactory, values: list[tuple[str, Any]]
) -> None:
    file = tmp_path_factory.mktemp("config") / "config.toml"
    for name, value in values:
        file.write_text(edits.written(str(file), name, value))
    loaded = config.load([SettingsFile(str(file))])
    for name, value in dict(values).items():
        assert loaded[name] == value


def test_a_setting_is_taken_out_of_a_file_and_the_rest_stays(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('# mine\nnever = [\n  "a",\n  "b",\n]\nrehash_hours = 2 # two\n')
    path.write_text(edits.written(str(path), "never", None))
    assert path.read_text() == "# mine\nrehash_hours = 2 # two\n"
    path.write_text(edits.written(str(path), "never", None))
    assert path.read_text() == "# mine\nrehash_hours = 2 # two\n"
