"""``status`` at a glance: where the files stand, what changed by hand, and what went wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.store import notes
from tests.support.called import called, done

HOME = "TAKEBACK_HOME"


@pytest.fixture
def tb(workspace: Path) -> Iterator[Takeback]:
    (workspace / "a").write_text("0\n")
    with Takeback.open(workspace) as opened:
        for number in (1, 2):
            with opened.session(agent="mine", native="s1").turn(f"turn number {number}"):
                (workspace / "a").write_text(f"{number}\n")
        yield opened


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Claude Code and Codex on the PATH, and nothing else of agents."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("claude", "codex"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def test_status_says_where_the_files_stand(tb: Takeback, workspace: Path) -> None:
    first = done(workspace, "status").stdout.splitlines()[0]
    assert first.startswith("The files stand after turn 2 of mine, "), first
    here = done(workspace, "--json", "status").json["here"]
    assert (here["place"], here["turn"], here["session"]) == ("after", 2, "mine-s1")
    done(workspace, "rewind", "--yes", "--files", "turn:2")
    first = done(workspace, "status").stdout.splitlines()[0]
    assert first.startswith("The files stand before turn 2 of mine, "), first
    assert done(workspace, "--json", "status").json["here"]["place"] == "before"


def test_where_there_can_be_no_workspace_status_and_doctor_say_so_and_the_rest(
    tmp_path: Path, agents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv(HOME, str(tmp_path / "outer" / "kept"))
    (tmp_path / "outer").mkdir()
    done(tmp_path, "init", "claude", "--yes")
    why = (
        (home, f"{home} is not a workspace: it holds more than one project"),
        (
            tmp_path / "outer",
            f"the store {tmp_path / 'outer' / 'kept'} would lie inside the workspace "
            f"{tmp_path / 'outer'}",
        ),
    )
    for place, said in why:
        answer = called(place, "status")
        assert (answer.status, answer.stdout) == (10, "Claude Code is connected\n")
        assert said in answer.stderr
        answer = called(place, "--json", "status")
        assert (answer.json["not_a_workspace"], answer.json["store"]) == (said, None)
        assert [one["agent"] for one in answer.json["agents"]] == ["claude", "codex"]
        assert (answer.error["exit"], answer.error["message"]) == (10, said)
        found = done(place, "--json", "doctor").json_lines
        states = {one["about"]: one["state"] for one in found}
        assert states["git"] == "ok"
        assert (states["Claude Code"], states["Codex"], states["hooks"]) == ("ok", "offer", "ok")
        assert [one["message"] for one in found if one["about"] == "workspace"] == [said]
        assert called(place, "log").status == 10


def test_status_says_at_which_checkpoint_made_by_hand_the_files_stand(workspace: Path) -> None:
    (workspace / "a").write_text("0\n")
    made = done(workspace, "--json", "checkpoint", "-m", "start").json["id"]
    first = done(workspace, "status").stdout.splitlines()[0]
    assert first.startswith('The files stand at "start", '), first
    here = done(workspace, "--json", "status").json["here"]
    assert (here["id"], here["place"], here["turn"]) == (made, "at", None)


def test_status_names_what_changed_by_hand_since(tb: Takeback, workspace: Path) -> None:
    assert done(workspace, "--json", "status").json["dirty"] == []
    assert "Nothing changed since." in done(workspace, "status").stdout
    for name in "bcde":
        (workspace / name).write_text("mine\n")
    (workspace / "a").unlink()
    (workspace / "empty").mkdir()
    kept = sorted(Path(tb.store_directory).rglob("*.pack"))
    text = done(workspace, "status").stdout
    assert "6 files changed by hand since: a, b, c +3 more" in text.splitlines()
    dirty = done(workspace, "--json", "status").json["dirty"]
    assert dirty == [
        {"path": "a", "kind": "deleted"},
        *({"path": name, "kind": "added"} for name in ("b", "c", "d", "e", "empty")),
    ]
    assert sorted(Path(tb.store_directory).rglob("*.pack")) == kept


def test_what_changes_while_an_agent_works_is_not_called_by_hand(
    tb: Takeback, workspace: Path
) -> None:
    tb.session(agent="mine", native="s1").tell("prompt", prompt="go on", turn="t9")
    (workspace / "b").write_text("whose?\n")
    lines = done(workspace, "status").stdout.splitlines()
    assert "1 file changed since the last checkpoint: b" in lines
    assert 'mine is working on "go on"' in lines


def test_status_answers_while_another_process_holds_the_workspace(
    tb: Takeback, workspace: Path
) -> None:
    from takeback.store.lock import Lock

    lock = Lock(os.path.join(tb.store_directory, "lock"))
    lock.acquire("a test", wait=0)
    try:
        found = done(workspace, "--json", "status").json
        text = done(workspace, "status").stdout
    finally:
        lock.release()
    assert found["dirty"] == []
    assert "Nothing changed since." in text


@pytest.mark.parametrize(
    ("setting", "by"),
    [(("off",), "off"), (("config", "never", "/"), "never"), (("config", "only", "/x"), "only")],
)
def test_status_says_that_recording_is_off(
    tb: Takeback, workspace: Path, setting: tuple[str, ...], by: str
) -> None:
    found = done(workspace, "--json", "status").json
    assert (found["recording"], found["recording_off_by"]) == (True, None)
    done(workspace, *setting)
    found = done(workspace, "--json", "status").json
    assert (found["recording"], found["recording_off_by"]) == (False, by)
    line = next(
        line for line in done(workspace, "status").stdout.splitlines() if "ecording" in line
    )
    assert line.startswith("Recording is off here: "), line
    assert ("takeback on" in line) is (by == "off")
    found = next(
        line
        for line in called(workspace, "--json", "doctor").json_lines
        if line["about"] == "recording"
    )
    assert found["state"] == "offer"


def test_status_says_that_the_environment_turns_recording_off(
    tb: Takeback, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAKEBACK", "off")
    assert "Recording is off here: TAKEBACK=off" in done(workspace, "status").stdout


def test_failures_are_those_of_this_workspace_in_local_time(
    tb: Takeback, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    notes.complain("hook mine: of another place", os.fsencode(tmp_path / "other"))
    notes.complain("hook mine: of this place", os.fsencode(workspace))
    notes.complain("hook : the payload is no JSON")
    found = done(workspace, "--json", "status").json["failures"]
    assert [line.partition(" ")[2] for line in found] == [
        "hook mine: of this place",
        "hook : the payload is no JSON",
    ]
    assert found[0][10] == "T"
    text = done(workspace, "status").stdout
    assert "of another place" not in text
    assert "T" not in text.partition("of this place")[0].rpartition("\n")[2]


def test_failures_are_shown_until_they_are_said_to_be_seen(tb: Takeback, workspace: Path) -> None:
    notes.complain("hook mine: one", os.fsencode(workspace))
    Path(tb.store_directory, "log").write_text("2026-01-01T00:00:00Z two\n")
    text = done(workspace, "status").stdout
    assert "2 failures" in text
    assert "takeback status --seen" in text
    answer = done(workspace, "status", "--seen")
    assert "failure" in answer.stdout
    assert done(workspace, "--json", "status").json["failures"] == []
    assert "--seen" not in done(workspace, "status").stdout
    notes.complain("hook mine: three", os.fsencode(workspace))
    [line] = done(workspace, "--json", "status").json["failures"]
    assert line.endswith("three")


def test_a_dry_run_of_seen_forgets_nothing(tb: Takeback, workspace: Path) -> None:
    notes.complain("hook mine: one", os.fsencode(workspace))
    done(workspace, "--dry-run", "status", "--seen")
    assert len(done(workspace, "--json", "status").json["failures"]) == 1


def test_a_hook_says_where_it_failed(workspace: Path, tmp_path: Path, tb: Takeback) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with Takeback.open(other) as elsewhere:
        elsewhere.checkpoint()
        store = Path(elsewhere.store_directory)
    (store / "format").write_text("99\n")
    import json

    from tests.support.cli import Cli

    told = {"event": "prompt", "session": "s", "agent": "mine", "turn": "t", "prompt": "hi"}
    Cli(other).ok("hook", "generic", stdin=json.dumps(told).encode())
    assert done(workspace, "--json", "status").json["failures"] == []
    assert "hook mine" in Path(os.environ[HOME], "log").read_text()


def test_the_sizes_of_status_add_up(tb: Takeback, workspace: Path) -> None:
    found = done(workspace, "--json", "status").json
    assert 0 < found["growth"] == found["snapshot_bytes"] < found["bytes"]
    line = next(line for line in done(workspace, "status").stdout.splitlines() if "store:" in line)
    assert "(last day: all)" in line, line


# -- before the first checkpoint


def test_status_before_the_first_checkpoint(workspace: Path, agents: Path) -> None:
    found = done(workspace, "--json", "status").json
    assert (found["checkpoints"], found["here"], found["newest"]) == (0, None, None)
    assert found["workspace"] == str(workspace)
    assert not Path(found["store"]).exists()
    text = done(workspace, "status").stdout
    assert text.startswith(f"No checkpoints yet of {workspace}.\n"), text
    assert "Connect your agents: takeback init" in text
    assert not Path(found["store"]).exists()


def test_status_where_there_can_be_no_workspace_is_an_error(tmp_path: Path) -> None:
    home = Path(os.environ["HOME"])
    home.mkdir(exist_ok=True)
    assert called(home, "--json", "status").error["exit"] == 10


def test_status_before_the_first_checkpoint_says_who_worked_without_us(
    workspace: Path, agents: Path
) -> None:
    done(workspace, "init", "--yes")
    folder = "".join(c if c.isalnum() else "-" for c in str(workspace))
    projects = Path(os.environ["HOME"], ".claude", "projects", folder)
    projects.mkdir(parents=True)
    (projects / "s.jsonl").write_text("{}\n")
    assert "Claude Code worked here (now) without takeback" in done(workspace, "status").stdout
    answer = called(workspace, "--json", "doctor")
    claude = next(line for line in answer.json_lines if line["about"] == "Claude Code")
    assert claude["state"] == "broken"
    assert "without takeback" in claude["message"]
    assert answer.status == 1


def test_settings_that_claude_rejects_are_named(workspace: Path, agents: Path) -> None:
    settings = Path(os.environ["HOME"], ".claude", "settings.json")
    settings.parent.mkdir(parents=True)
    settings.write_text('{\n  // mine\n  "theme": "dark"\n}\n')
    said = done(workspace, "init", "--yes", "claude").stdout
    assert "connected" not in said
    assert "comments" in said
    for command in ("status", "doctor"):
        text = called(workspace, command).stdout
        assert f"Claude Code does not read {settings}" in text, text
        assert "line 2" in text


def test_doctor_before_the_first_checkpoint(workspace: Path, agents: Path) -> None:
    answer = called(workspace, "--json", "doctor")
    states = {line["about"]: line["state"] for line in answer.json_lines}
    assert states["git"] == "ok"
    assert states["checkpoints"] == "offer"
    assert states["Claude Code"] == states["Codex"] == "offer"
    assert answer.status == 0, str(answer)


def test_doctor_calls_broken_what_was_connected_and_is_so_no_more(
    workspace: Path, agents: Path
) -> None:
    done(workspace, "init", "--yes", "claude")
    Path(os.environ["HOME"], ".claude", "settings.json").write_text("{}\n")
    answer = called(workspace, "--json", "doctor")
    states = {line["about"]: line["state"] for line in answer.json_lines}
    assert (states["Claude Code"], states["Codex"]) == ("broken", "offer")
    assert answer.status == 1


def test_without_checkpoints_the_hint_is_to_connect_an_agent(workspace: Path, agents: Path) -> None:
    hint = called(workspace, "--json", "log").error["hint"]
    assert "takeback init" in hint
    done(workspace, "init", "--yes")
    hint = called(workspace, "--json", "log").error["hint"]
    assert "takeback init" not in hint
    assert "takeback checkpoint" in hint


# -- warnings, in one line each


def warned(workspace: Path) -> dict[str, str]:
    found = done(workspace, "--json", "status").json["warnings"]
    text = done(workspace, "status").stdout
    for one in found:
        [line] = [line for line in text.splitlines() if one["hint"] in line]
        said = one["message"].lstrip("0123456789")  # how much is free changes all the time
        assert said[1:20] in line
    return {one["about"]: one["message"] for one in found}


def test_status_warns_of_packs_and_refs_that_are_gone(tb: Takeback, workspace: Path) -> None:
    assert warned(workspace) == {}
    store = Path(tb.store_directory)
    [ref] = store.glob("store.git/refs/takeback/sessions/*/mine-s1")
    ref.unlink()
    assert set(warned(workspace)) == {"refs"}
    done(workspace, "doctor", "--fix")
    assert warned(workspace) == {}
    pack = next(store.glob("store.git/objects/pack/*.pack"))
    pack.chmod(0o600)
    os.truncate(pack, pack.stat().st_size - 1)
    assert set(warned(workspace)) == {"packs"}


def test_status_warns_before_the_disk_is_full(tb: Takeback, workspace: Path) -> None:
    space = os.statvfs(tb.store_directory)
    free = space.f_bavail * space.f_frsize >> 20
    done(workspace, "config", "disk_floor_mb", str(free // 3))
    assert "nearly full" in warned(workspace)["disk"]
    done(workspace, "config", "disk_floor_mb", str(2 * free))
    assert "captures stop" in warned(workspace)["disk"]
    states = {
        one["about"]: one["state"] for one in called(workspace, "--json", "doctor").json_lines
    }
    assert states["disk"] == "broken"


def about_hooks(workspace: Path, *words: str) -> list[str]:
    found = called(workspace, "--json", "doctor", *words).json_lines
    return [one["state"] for one in found if one["about"] == "hooks"]


def test_status_and_doctor_name_hooks_that_lead_nowhere(
    tb: Takeback, workspace: Path, agents: Path
) -> None:
    done(workspace, "init", "--yes", "claude")
    assert warned(workspace) == {}
    recorded = Path(os.environ[HOME], "bin", "takeback.path")
    good = recorded.read_text()
    recorded.write_text("/nowhere/python\n/nowhere\n")
    assert set(warned(workspace)) == {"hooks"}
    assert about_hooks(workspace) == ["broken"]
    # Then how long they take is looked at, which on a busy machine may be too long.
    assert about_hooks(workspace, "--fix")[0] == "mended"
    assert recorded.read_text() == good
    assert warned(workspace) == {}
    done(workspace, "uninstall", "--yes")
    assert warned(workspace) == {}


def test_doctor_removes_the_socket_of_a_killed_standby(
    tb: Takeback, workspace: Path, agents: Path
) -> None:
    import socket

    done(workspace, "init", "--yes", "claude")
    folder = Path(os.environ[HOME], "bin")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(folder / "standby-dead"))
    with socket.socket(socket.AF_UNIX) as other:  # this very process, which is no standby of ours
        other.bind(str(folder / "standby-other"))
        other.listen(8)
        found = called(workspace, "--json", "doctor").json_lines
        said = [one["message"] for one in found if one["about"] == "standby"]
        assert any("standby-dead" in message for message in said), said
        assert any(f"process {os.getpid()} " in message for message in said), said
        called(workspace, "doctor", "--fix")
    assert not (folder / "standby-dead").exists()
    assert not (folder / "standby-other").exists()


def test_a_store_is_too_large_only_where_there_is_a_bound(tb: Takeback, workspace: Path) -> None:
    for said, too_large in (("1KB", True), ("0", False)):
        done(workspace, "config", "max_bytes", said)
        assert done(workspace, "--json", "status").json["over_budget"] is too_large
        assert ("max_bytes" in done(workspace, "status").stdout) is too_large
