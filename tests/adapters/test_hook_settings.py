"""Hooks in settings that belong to a person."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from takeback.adapters import hook_settings
from takeback.adapters.hook_settings import Hook
from takeback.errors import Refused
from takeback.model.agent import FileEdit

HOME = "/home/dev/takeback"
HOOKS = (Hook("Stop", 15), Hook("PreToolUse", 10, "Write|Edit"))
MINE = """{
  // who I am
  "name": "Ada",
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "notify"}]} // rings a bell
    ]
  }
}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "settings.json"


def connected(path: Path, home: str = HOME) -> FileEdit:
    edit = hook_settings.connected(str(path), HOOKS, "claude", home)
    path.write_bytes(edit.after or b"")
    return edit


def disconnected(path: Path) -> FileEdit:
    edit = hook_settings.disconnected(str(path), "claude", HOME)
    path.write_bytes(edit.after or b"")
    return edit


def is_connected(path: Path, home: str = HOME) -> bool:
    return hook_settings.is_connected(str(path), HOOKS, "claude", home)


def test_hooks_are_added_behind_those_of_the_person(path: Path) -> None:
    path.write_text(MINE)
    connected(path)
    assert path.read_text().replace(f"{HOME}/bin/hook claude", "OURS") == snapshot("""\
{
  // who I am
  "name": "Ada",
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "notify"}]}, // rings a bell
      {"hooks": [{"type": "command", "command": "OURS", "timeout": 15}]}
    ],
    "PreToolUse": [
      {"matcher": "Write|Edit", "hooks": [{"type": "command", "command": "OURS", "timeout": 10}]}
    ]
  }
}
""")
    assert is_connected(path)


def test_a_second_time_changes_nothing(path: Path) -> None:
    path.write_text(MINE)
    assert connected(path).changes
    assert not connected(path).changes


def test_taking_them_out_leaves_the_rest_as_it_was(path: Path) -> None:
    path.write_text(MINE)
    connected(path)
    disconnected(path)
    assert path.read_text() == MINE
    assert not is_connected(path)
    assert not disconnected(path).changes


def test_what_was_written_since_stays(path: Path) -> None:
    path.write_text(MINE)
    connected(path)
    text = path.read_text().replace('"Ada"', '"Grace"')
    path.write_text(text.replace('"Stop": [', '"Stop": [{"hooks": []}, /* none */'))
    disconnected(path)
    assert path.read_text() == MINE.replace('"Ada"', '"Grace"').replace(
        '"Stop": [', '"Stop": [{"hooks": []}, /* none */'
    )


def test_a_file_that_is_not_there_is_made(path: Path) -> None:
    edit = hook_settings.connected(str(path), HOOKS, "claude", HOME, named=True)
    assert edit.before is None
    assert edit.after is not None
    made = json.loads(edit.after)["hooks"]
    assert list(made) == ["Stop", "PreToolUse"]
    assert made["Stop"][0]["hooks"][0]["name"] == "takeback"


def test_a_limit_that_the_person_has_changed_stays(path: Path) -> None:
    connected(path)
    path.write_text(path.read_text().replace('"timeout": 15', '"timeout": 60'))
    assert not connected(path).changes
    assert is_connected(path)


def test_a_hook_for_another_home_or_for_other_tools_is_replaced(path: Path) -> None:
    connected(path, "/home/dev/old/takeback")
    path.write_text(path.read_text().replace("Write|Edit", "Write"))
    assert not is_connected(path)
    connected(path)
    fresh = path.with_name("fresh.json")
    connected(fresh)
    assert path.read_text() == fresh.read_text()


def test_a_hook_of_the_person_in_our_group_stays(path: Path) -> None:
    connected(path)
    settings = json.loads(path.read_text())
    settings["hooks"]["Stop"][0]["hooks"].insert(0, {"type": "command", "command": "notify"})
    path.write_text(json.dumps(settings))
    assert not connected(path).changes
    disconnected(path)
    assert json.loads(path.read_text()) == {
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "notify"}]}]}
    }


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}', "\xff".encode("latin-1")]
)
def test_what_is_no_settings_file_is_refused_and_left_alone(path: Path, text: str | bytes) -> None:
    before = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(before)
    with pytest.raises(Refused, match=r"settings\.json cannot be edited"):
        hook_settings.connected(str(path), HOOKS, "claude", HOME)
    assert path.read_bytes() == before
    assert not is_connected(path)
    assert not hook_settings.disconnected(str(path), "claude", HOME).changes


def test_a_broken_file_that_calls_us_is_not_passed_over(path: Path) -> None:
    path.write_text(
        '{"hooks": {"Stop": [{"hooks": [{"command": "/home/dev/takeback/bin/hook claude"'
    )
    with pytest.raises(Refused, match=r"settings\.json cannot be edited"):
        hook_settings.disconnected(str(path), "claude", HOME)


def test_odd_hooks_of_the_person_are_passed_over(path: Path) -> None:
    odd = '{"hooks": {"Stop": [1, {"hooks": 2}, {"hooks": [3, {"command": 4}]}], "Other": 5}}'
    path.write_text(odd)
    connected(path)
    assert is_connected(path)
    disconnected(path)
    assert path.read_text() == odd


# -- without a shell

BY_ITSELF = (
    Hook("Stop", 15),
    Hook("PreToolUse", 10, "^(?!Read$).*$", ("--beside",), formerly="Write|Edit"),
)


def by_itself(path: Path, home: str = HOME) -> FileEdit:
    edit = hook_settings.connected(str(path), BY_ITSELF, "claude", home, by_itself=True)
    path.write_bytes(edit.after or b"")
    return edit


def entries(path: Path) -> dict[str, dict[str, object]]:
    """Returns the one hook of each event, with its group's matcher."""
    hooks = json.loads(path.read_text())["hooks"]
    return {event: {**group, **group.pop("hooks")[0]} for event, [group] in hooks.items()}


def test_an_agent_that_can_starts_the_launcher_itself(path: Path) -> None:
    by_itself(path)
    stop, before = entries(path).values()
    launcher = f"{HOME}/bin/hook"
    assert (stop["command"], stop["args"]) == (launcher, ["claude"])
    assert (before["command"], before["args"]) == (launcher, ["claude", "--beside"])
    assert not by_itself(path).changes
    assert hook_settings.is_connected(str(path), BY_ITSELF, "claude", HOME)


def test_what_an_earlier_release_wrote_is_connected_and_brought_up_to_date(path: Path) -> None:
    connected(path)
    assert hook_settings.is_connected(str(path), BY_ITSELF, "claude", HOME)
    assert by_itself(path).changes
    assert [entry["matcher"] for entry in entries(path).values() if "matcher" in entry] == [
        "^(?!Read$).*$"
    ]
    assert all("args" in entry for entry in entries(path).values())


def test_a_home_that_a_shell_would_take_apart_is_quoted_for_one(path: Path) -> None:
    """An agent that does not know `args` gives the command to a shell."""
    home = "/home/dev/it's here"
    by_itself(path, home)
    before = entries(path)["PreToolUse"]
    assert before["command"] == "'/home/dev/it'\"'\"'s here/bin/hook' claude --beside"
    assert "args" not in before
    assert not by_itself(path, home).changes
    assert hook_settings.is_connected(str(path), BY_ITSELF, "claude", home)


def test_both_forms_are_taken_out(path: Path) -> None:
    path.write_text(MINE)
    by_itself(path)
    disconnected(path)
    assert json.loads(path.read_text().replace("// who I am", "").replace("// rings a bell", ""))[
        "hooks"
    ] == {"Stop": [{"hooks": [{"type": "command", "command": "notify"}]}]}


def test_somebody_elses_program_with_args_is_left_alone(path: Path) -> None:
    theirs = {"type": "command", "command": f"{HOME}/bin/other", "args": ["claude"]}
    path.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [theirs]}]}}))
    by_itself(path)
    disconnected(path)
    assert json.loads(path.read_text())["hooks"]["Stop"] == [{"hooks": [theirs]}]
