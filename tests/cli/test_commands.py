"""Each command that looks or keeps house, as text and as JSON."""

from __future__ import annotations

import base64
import os
import subprocess
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from tests.cli.conftest import NOW, Story
from tests.cli.transcript import settled
from tests.cli.typing_person import at_a_terminal
from tests.support.called import done
from tests.support.cli import Cli


def test_checkpoint(cli: Cli, workspace: Path) -> None:
    (workspace / "a").write_text("a\n")
    made = cli.ok("checkpoint", "--json", "--label", "start").json
    assert made == {
        "type": "checkpoint",
        "v": 1,
        "id": made["id"],
        "snapshot": made["snapshot"],
        "session": "workspace",
        "turn": None,
        "label": "start",
        "label_by": None,
        "complete": True,
        "files": 1,
        "changed": made["changed"],
        "skipped": [],
        "ms": made["ms"],
    }
    (workspace / "b").write_text("b\n")
    assert settled(cli.ok("checkpoint").stdout) == snapshot(
        "Made a checkpoint of 2 files, 1 changed: ID\n"
    )


def test_checkpoint_names_what_it_could_not_capture(cli: Cli, workspace: Path) -> None:
    cli.ok("config", "size_limit_mb", "0.001")
    (workspace / "big").write_bytes(b"x" * 2000)
    made = cli.ok("--json", "checkpoint").json
    assert (made["complete"], made["skipped"]) == (False, [{"path": "big", "reason": "oversized"}])
    for words in ((), ("-q",)):
        assert cli.ok("checkpoint", *words).stderr == "Not captured: big (oversized).\n"
    assert "incomplete" in cli.ok("log").stdout


def test_checkpoint_names_the_first_of_many_that_it_could_not_capture(
    cli: Cli, workspace: Path
) -> None:
    cli.ok("config", "size_limit_mb", "0.001")
    for number in range(1022):
        (workspace / f"big{number:04}").write_bytes(b"x" * 2000)
    told = cli.ok("checkpoint", "-m", "too-many").stderr.splitlines()
    assert told[:2] == [
        "Not captured: big0000 (oversized).",
        "Not captured: big0001 (oversized).",
    ]
    made = cli.ok("--json", "show", "too-many").json["id"]
    assert told[20:] == [f"Not captured: 1,002 more; all of them: takeback show {made}"]
    assert cli.ok("show", "too-many").stdout.count("oversized") == 1022
    assert len(cli.ok("--json", "checkpoint").json["skipped"]) == 1022


def test_log(story: Story) -> None:
    text = story.cli.ok("log").stdout
    assert settled(text, first=story.first, second=story.second) == snapshot("""\
SECOND   now  by hand  manual  a, b, c  +2 -2  <- here
FIRST   now  by hand  manual  start  no changes
""")
    newest, oldest = story.cli.ok("--json", "log").json_lines
    assert newest == {
        "type": "checkpoint",
        "v": 1,
        "id": story.second,
        "snapshot": newest["snapshot"],
        "session": "workspace",
        "agent": None,
        "turn": None,
        "kind": "manual",
        "prompt": None,
        "label": None,
        "label_by": None,
        "time": newest["time"],
        "changed": [
            {"path": "a", "kind": "modified", "added": 1, "deleted": 1, "who": "outside"},
            {"path": "b", "kind": "deleted", "added": 0, "deleted": 1, "who": "outside"},
            {"path": "c", "kind": "added", "added": 1, "deleted": 0, "who": "outside"},
        ],
        "added": 2,
        "deleted": 2,
        "complete": True,
        "late": False,
        "below": None,
        "amid": None,
        "expired": None,
        "abandoned": False,
        "state": None,
        "outside": [{"path": "a"}, {"path": "b"}, {"path": "c"}],
        "tests": None,
    }
    assert newest["time"].endswith("Z")
    assert (oldest["id"], oldest["label"]) == (story.first, "start")


def test_log_options(story: Story) -> None:
    story.cli.ok("rewind", "start", "--yes")

    def ids(*words: str) -> list[str]:
        return [line["id"] for line in story.cli.ok("--json", "log", *words).json_lines]

    assert ids() == [story.second, story.first]
    assert ids("-n", "1") == [story.second]
    assert ids("-n", "0") == []
    assert ids("--session", "workspace") == [story.second, story.first]
    assert ids("--session", "work") == [story.second, story.first]
    assert len(ids("--all")) == 3
    (done,) = story.cli.ok("--json", "log", "--operations").json_lines
    assert done == {
        "type": "operation",
        "v": 1,
        "id": done["id"],
        "kind": "rewind",
        "session": "workspace",
        "time": done["time"],
        "target": story.first,
        "before": done["before"],
        "after": done["after"],
        "paths": [],
        "of": None,
        "written": 2,
        "deleted": 2,
        "left_alone": 0,
        "recovered": False,
        "scope": "files",
        "child": None,
        "about": '"start"',
        "directory": None,
        "next": "undo",
        "machine": done["machine"],
        "here": True,
    }


def test_log_names_three_files_and_counts_the_rest(cli: Cli, workspace: Path) -> None:
    cli.ok("checkpoint")
    for name in "abcde":
        (workspace / name).write_text("x\n")
    cli.ok("checkpoint")
    assert "a, b, c +2 more  +5 -0" in cli.ok("log").stdout


def test_show(story: Story) -> None:
    text = story.cli.ok("show", "@").stdout
    text = text.replace(story.cli.ok("--json", "show").json["snapshot"], "SNAPSHOT")
    text = text.replace(text.split("(")[1].split(")")[0], "TIME")
    assert settled(text, second=story.second) == snapshot("""\
checkpoint SECOND
  made      now (TIME)
  kind      manual
  branch    main
  session   workspace
  snapshot  SNAPSHOT
  files     2
  complete  yes
changed since the state before:
  modified  a  +1 -1  outside
  deleted   b  +0 -1  outside
  added     c  +1 -0  outside
""")
    shown = story.cli.ok("--json", "show", "start").json
    assert (shown["type"], shown["id"], shown["label"]) == ("checkpoint", story.first, "start")
    assert (shown["files"], shown["branch"], shown["head"], shown["not_held"]) == (
        2,
        "main",
        None,
        [],
    )
    assert (shown["tools"], shown["steps"], shown["conversation"]) == ([], [], [])


def test_diff(story: Story) -> None:
    assert story.cli.ok("diff", "start", "@", "--", "b").stdout == snapshot("""\
diff --git a/b b/b
deleted file mode 100644
index 6178079..0000000
--- a/b
+++ /dev/null
@@ -1 +0,0 @@
-b
""")
    assert story.cli.ok("diff", "start", "--stat").stdout == snapshot("""\
modified  a  +1 -1
deleted   b  +0 -1
added     c  +1 -0
added     d  +1 -0
""")
    found = story.cli.ok("--json", "diff", "start", "@", "--", "b").json
    assert found["changes"] == [{"path": "b", "kind": "deleted", "added": 0, "deleted": 1}]
    assert found["patch"] == story.cli.ok("diff", "start", "@", "--", "b").stdout
    assert "patch" not in story.cli.ok("--json", "diff", "start", "--stat").json
    assert story.cli.ok("diff", "@", "@").stdout == ""


def test_cat(story: Story) -> None:
    raw = bytes(range(256))
    (story.workspace / "raw").write_bytes(raw)
    story.cli.ok("checkpoint")
    assert story.cli.ok("cat", "@", "raw").stdout_bytes == raw
    file = story.cli.ok("--json", "cat", "@", "raw").json
    assert (file["type"], file["path"]) == ("file", "raw")
    assert base64.b64decode(file["bytes_b64"]) == raw


def test_label(story: Story) -> None:
    text = ""
    for words in (("@", "good"), ("good", "better"), ("better",), ("@",)):
        text += story.cli.ok("label", *words).stdout
    assert settled(text, second=story.second) == snapshot("""\
Labelled good: SECOND
Labelled better: SECOND
Took the label better off: SECOND
There was no label on SECOND
""")
    assert story.cli.ok("--json", "label", "@", "x").json == {
        "type": "label",
        "v": 1,
        "id": story.second,
        "label": "x",
        "label_by": None,
        "before": None,
    }


def test_status(story: Story) -> None:
    story.cli.ok("rewind", "start", "--yes")
    text = story.cli.ok("status").stdout
    assert settled(text, second=story.second, workspace=str(story.workspace)) == snapshot("""\
The files stand at "start", HH:MM.
Nothing changed since.
◆ 2 checkpoints / 2 snapshots
N KB in the store: snapshots N KB (last day: all), index N KB
workspace WORKSPACE
store     $TAKEBACK_HOME/workspaces/STORE
newest    SECOND, now (made by hand, HH:MM)
1 to undo, 0 to redo
""")
    found = story.cli.ok("--json", "status").json
    assert found == {
        "type": "status",
        "v": 1,
        "checkpoints": found["checkpoints"],
        "snapshots": 2,
        "floor": None,
        "expired": 0,
        "sessions": 1,
        "bytes": found["bytes"],
        "growth": found["growth"],
        "store": found["store"],
        "workspace": str(story.workspace),
        "not_a_workspace": None,
        "budget": 2048 << 20,
        "over_budget": False,
        "heaviest": [],
        "sensitive": [],
        "sensitive_left_out": [],
        "newest": story.second,
        "can_undo": 1,
        "can_redo": 0,
        "interrupted": False,
        "failures": [],
        "waiting": 0,
        "running": [],
        "disagree": [],
        "snapshot_bytes": found["growth"],
        "here": {
            "id": story.first,
            "place": "at",
            "session": "workspace",
            "turn": None,
            "time": found["here"]["time"],
            "label": "start",
            "label_by": None,
        },
        "dirty": [],
        "recording": True,
        "recording_off_by": None,
        "warnings": [],
        "earlier": [],
        "agents": [],
    }
    assert Path(found["store"]).is_dir()


def test_status_over_the_budget(story: Story) -> None:
    story.cli.ok("config", "max_bytes", "1KB")
    assert story.cli.ok("--json", "status").json["over_budget"] is True
    assert "larger than 1.0 KB (max_bytes): takeback prune" in story.cli.ok("status").stdout


def test_verify(story: Story) -> None:
    assert story.cli.ok("verify").stdout == "Checked 2 checkpoints: everything reads back.\n"
    found = story.cli.ok("--json", "verify", "--read-data").json
    assert found["objects"] > 0
    assert (found["type"], found["checkpoints"], found["problems"]) == ("verify", 2, [])


def test_verify_names_what_is_damaged(story: Story) -> None:
    store = Path(story.cli.ok("--json", "status").json["store"])
    for pack in store.glob("store.git/objects/pack/*.pack"):
        pack.chmod(0o600)
        data = bytearray(pack.read_bytes())
        data[len(data) // 2] ^= 0xFF
        pack.write_bytes(data)
    answer = story.cli.run("--json", "verify", "--read-data")
    assert answer.status == 1, str(answer)
    fields = {"what", "detail", "checkpoint", "paths"}
    assert all(set(problem) == fields for problem in answer.json["problems"])
    assert answer.json["problems"]
    assert "problem" in story.cli.run("verify", "--read-data").stdout


def test_doctor(story: Story) -> None:
    lines = story.cli.ok("--json", "doctor").json_lines
    assert {line["type"] for line in lines} == {"finding"}
    assert {line["state"] for line in lines} == {"ok"}
    assert set(lines[0]) == {"type", "v", "about", "state", "message", "hint"}
    assert "ok      git: " in story.cli.ok("doctor").stdout
    assert story.cli.ok("doctor", "-q").stdout == ""
    rebuilt = story.cli.ok("--json", "doctor", "--rebuild").json_lines[-1]
    assert (rebuilt["about"], rebuilt["state"]) == ("ledger", "mended")


def test_doctor_adopts_what_stood_here_before(story: Story) -> None:
    story.workspace.rename(story.workspace.with_name("other"))
    (story.workspace.with_name("other") / "marker").write_text("")
    subprocess.run(["rm", "-r", str(story.workspace.with_name("other"))], check=True)
    story.workspace.mkdir()
    story.cli.ok("checkpoint")
    (offer,) = [f for f in story.cli.ok("--json", "doctor").json_lines if f["state"] == "offer"]
    story.cli.ok("doctor", "--adopt", offer["hint"].rpartition(" ")[2])
    assert story.first in story.cli.ok("log").stdout


def test_config(cli: Cli) -> None:
    lines = cli.ok("--json", "config").json_lines
    assert set(lines[0]) == {"type", "v", "key", "value", "origin", "kind", "about"}
    assert {line["origin"] for line in lines} == {"default"}
    assert cli.ok("config", "lock_wait_seconds").stdout == "10\n"
    cli.ok("config", "lock_wait_seconds", "3")
    cli.ok("config", "exclude", "*.iso, /build")
    cli.ok("config", "foreign_owner", "yes")
    assert cli.ok("config", "exclude").stdout == "*.iso,/build\n"
    assert cli.ok("config", "foreign_owner").stdout == "yes\n"
    setting = cli.ok("--json", "config", "lock_wait_seconds").json
    assert (setting["value"], setting["origin"]) == (
        3,
        os.path.join(os.environ["XDG_CONFIG_HOME"], "takeback", "config.toml"),
    )
    assert "lock_wait_seconds = 3" in cli.ok("config").stdout


def test_config_of_a_workspace(story: Story, tmp_path: Path) -> None:
    story.cli.ok("config", "--workspace", "rehash_hours", "1")
    assert story.cli.ok("config", "rehash_hours").stdout == "1\n"
    assert Cli(tmp_path / "home").ok("config", "rehash_hours").stdout == "24\n"
    store = story.cli.ok("--json", "status").json["store"]
    assert Path(store, "config.toml").read_text() == "rehash_hours = 1\n"


def test_config_keeps_a_link_and_changes_nothing_in_a_dry_run(cli: Cli, tmp_path: Path) -> None:
    place = Path(os.environ["XDG_CONFIG_HOME"], "takeback")
    place.mkdir(parents=True)
    (tmp_path / "dotfiles.toml").write_text("# mine\n")
    (place / "config.toml").symlink_to(tmp_path / "dotfiles.toml")
    cli.ok("config", "rehash_hours", "2", "--dry-run")
    assert (tmp_path / "dotfiles.toml").read_text() == "# mine\n"
    cli.ok("config", "rehash_hours", "2")
    assert (place / "config.toml").is_symlink()
    assert (tmp_path / "dotfiles.toml").read_text() == "# mine\nrehash_hours = 2\n"


def test_a_setting_is_taken_off_again(workspace: Path) -> None:
    done(workspace, "checkpoint")
    done(workspace, "config", "include", "*.log")
    done(workspace, "config", "--workspace", "include", "*.tmp")
    assert done(workspace, "config", "include").stdout == "*.tmp\n"
    assert "Taken off in" in done(workspace, "config", "--workspace", "--unset", "include").stderr
    assert done(workspace, "config", "include").stdout == "*.log\n"
    done(workspace, "--dry-run", "config", "--unset", "include")
    assert done(workspace, "config", "include").stdout == "*.log\n"
    done(workspace, "config", "--unset", "include")
    assert done(workspace, "--json", "config", "include").json["origin"] == "default"
    done(workspace, "config", "--unset", "include")


SECRET = "TOKEN=hunter2-is-my-password\n"


def with_secret(story: Story) -> None:
    (story.cli.directory / "secret.env").write_text(SECRET)
    story.cli.ok("checkpoint", "-m", f"use {SECRET.strip()}")


def test_purge(story: Story) -> None:
    with_secret(story)
    planned = story.cli.ok("--json", "purge", "secret.env", "--dry-run")
    done = story.cli.ok("--json", "purge", "secret.env", "--confirm", "secret.env")
    assert (planned.json["done"], done.json["done"], done.json["proved"]) == (False, True, True)
    for said in (planned, done):
        [store] = said.json["stores"]
        assert store["paths"] == [{"path": "secret.env"}]
        assert (store["versions"], store["checkpoints"]) == (1, 1)
        assert store["quotes"] > 0
        assert "hunter2" not in said.stdout + said.stderr
    assert done.json["stores"][0]["objects"] > 0
    refused = story.cli.run("cat", "@", "secret.env")
    assert "does not hold secret.env (purged)" in refused.stderr
    compared = story.cli.ok("diff", "start", "@", "--", "secret.env")
    assert (compared.stdout, "secret.env: purged:" in compared.stderr) == ("", True)
    told = story.cli.ok("--json", "diff", "start", "@").json
    assert told["purged"] == [{"path": "secret.env"}]
    shown = story.cli.ok("show").stdout
    assert "secret.env: purged" in shown
    assert "hunter2" not in shown
    assert (
        "purge  of what a person wanted kept no more" in story.cli.ok("log", "--operations").stdout
    )


@pytest.mark.parametrize(("typed", "status"), [("secret.env\n", 0), ("yes\n", 13), ("\n", 13)])
def test_purge_at_a_terminal(story: Story, typed: str, status: int) -> None:
    with_secret(story)
    seen = at_a_terminal(story.cli, "purge", "secret.env", answers=(typed,))
    assert seen.status == status, seen.screen
    assert "hunter2" not in seen.screen
    assert (story.cli.run("cat", "@", "secret.env").status == 12) is (status == 0)
    assert (story.cli.directory / "secret.env").read_text() == SECRET


def test_forget(story: Story) -> None:
    store = Path(story.cli.ok("--json", "status").json["store"])
    planned = story.cli.ok("--json", "forget", ".", "--dry-run").json
    assert (planned["deleted"], planned["checkpoints"]) == (False, 2)
    assert store.is_dir()
    gone = story.cli.ok("--json", "forget", ".", "--yes", "--name", "workspace").json
    assert gone == {**planned, "deleted": True}
    assert not store.exists()
    assert story.files() == NOW
    assert story.cli.run("log").status == 10
    [there] = story.cli.ok("--json", "forget", "--restore").json["stores"]
    assert (there["workspace"], there["checkpoints"]) == (planned["workspace"], 2)
    again = story.cli.ok("--json", "forget", "--restore", "--dry-run", ".").json["stores"]
    assert again == [there]
    back = story.cli.ok("--json", "forget", "--restore", ".").json
    assert (back["id"], back["aside"]) == (there["id"], None)
    assert len(story.cli.ok("--json", "log").json_lines) == 2
    assert story.cli.ok("forget", "--restore").stdout == "The trash is empty.\n"
    assert story.cli.run("forget", "--restore", ".").status == 10


def test_forget_says_how_to_bring_it_back(story: Story) -> None:
    named = ("--yes", "--name", "workspace")
    done = story.cli.ok("forget", ".", *named)
    assert done.stderr + done.stdout == (
        f"Deleted 2 checkpoints of {story.cli.directory}. The files are as they were.\n"
        f"Bring them back for 7 days: takeback forget --restore {story.cli.directory}\n"
    )
    story.cli.ok("checkpoint")
    listed = story.cli.ok("forget", "--restore").stdout
    assert f"In the trash: {story.cli.directory}, 2 checkpoints (" in listed
    back = story.cli.ok("forget", "--restore", ".")
    said = (back.stderr + back.stdout).splitlines()
    assert said[0] == f"Brought back 2 checkpoints of {story.cli.directory}."
    assert said[1].startswith("What was kept there since is set aside: takeback doctor --adopt ")
    story.cli.ok(*said[1].rpartition(": takeback ")[2].split())
    assert len(story.cli.ok("--json", "log").json_lines) == 1


def test_forget_now_takes_what_is_in_the_trash_too(story: Story) -> None:
    named = ("--yes", "--name", "workspace")
    story.cli.ok("forget", ".", *named)
    story.cli.ok("checkpoint")
    planned = story.cli.ok("--json", "forget", ".", "--now", "--dry-run").json
    assert (planned["checkpoints"], planned["final"], planned["deleted"]) == (3, True, False)
    refused = story.cli.run("forget", ".", "--now", "--yes")
    assert refused.status == 13
    assert "deletes 3 checkpoints" in refused.stderr
    assert "for good" in refused.stderr
    done = story.cli.ok("--json", "forget", ".", "--now", *named).json
    assert (done["final"], done["deleted"]) == (True, True)
    assert story.cli.ok("forget", "--restore").stdout == "The trash is empty.\n"
    assert story.cli.run("forget", ".", "--now", *named).status == 10
    story.cli.ok("checkpoint")
    story.cli.ok("forget", ".", *named)
    [there] = story.cli.ok("--json", "forget", "--restore").json["stores"]
    story.cli.ok("forget", ".", "--now", "--earlier", there["id"], *named)
    assert story.cli.ok("--json", "forget", "--restore").json["stores"] == []
    assert story.files() == NOW


@pytest.mark.parametrize(("typed", "status"), [("workspace\n", 0), ("yes\n", 13), ("\n", 13)])
def test_forget_at_a_terminal(story: Story, typed: str, status: int) -> None:
    seen = at_a_terminal(story.cli, "forget", ".", answers=(typed,))
    assert seen.status == status, seen.screen
    assert (story.cli.run("log").status == 10) is (status == 0)
    assert story.files() == NOW


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(cli: Cli, shell: str) -> None:
    script = cli.ok("completion", shell).stdout
    assert "_TAKEBACK_COMPLETE" in script
    assert cli.ok("--json", "completion", shell).json["script"] in script


def test_an_interrupted_operation_is_mentioned(story: Story) -> None:
    """A journal that is there is an operation that was interrupted."""
    store = Path(story.cli.ok("--json", "status").json["store"])
    (store / "journal").write_bytes(b"x")
    for words in (("log",), ("show",), ("cat", "@", "a")):
        assert story.cli.ok(*words).stderr == (
            "An operation was interrupted here; the next changing command finishes it.\n"
        )
        assert story.cli.ok(*words, "-q").stderr == ""
        assert '"type": "note"' in story.cli.ok(*words, "--json").stderr
    assert "An operation was interrupted here." in story.cli.ok("status").stdout
    assert story.cli.ok("--json", "status").json["interrupted"] is True
