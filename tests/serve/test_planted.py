"""What a model with the user's rights can leave behind: it is shown, passed over or refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

from takeback import Takeback
from takeback.app.serving import PrivateFiles
from takeback.client import Client
from takeback.paths import takeback_home
from tests.serve.served import InProcess, serving, until
from tests.support.agent import agent
from tests.support.cli import Cli
from tests.support.host import Host

SAFE = ("status", "doctor", "sessions", "tree", "operations", "turns", "search?q=a")


def plant(folder: Path, content: str | None) -> None:
    folder.mkdir(parents=True)
    if content is None:
        os.mkfifo(folder / "workspace.json")
    else:
        (folder / "workspace.json").write_text(content)


def test_planted_workspaces_stop_nothing(host: Host, served: InProcess, tmp_path: Path) -> None:
    home = Path(takeback_home(os.environ)) / "workspaces"
    said = {"root": "1:2", "git": "3:4", "id": "x"}
    paths = ["/", "/etc", "/nowhere/<img src=x onerror=alert(1)>", "a\0b", "\ud800", "../..", ""]
    for number, path in enumerate(paths):
        plant(home / f"planted{number}" / "1", json.dumps({**said, "path": path}))
    for number, odd in enumerate([None, "", "{", "[" * 100_000, '{"path": 1}', "1" * 10_000]):
        plant(home / f"odd{number}" / "1", odd)
    (home / "link").symlink_to("/etc")
    (home / "loop").symlink_to("loop")
    (home / "file").write_text("")
    (home / "linked").mkdir()
    (home / "linked" / "1").symlink_to(home / "planted0" / "1")
    (home / "odd-json").mkdir()
    (home / "odd-json" / "1").mkdir()
    (home / "odd-json" / "1" / "workspace.json").symlink_to("/dev/zero")
    alone = "from takeback import Takeback; Takeback.workspaces()"
    subprocess.run([sys.executable, "-c", alone], check=True, timeout=30)  # waits for no pipe
    listed = served.get("/workspaces").ok()["workspaces"]
    assert str(host.cli.directory) in [one["path"] for one in listed]
    for one in listed:
        for what in SAFE:
            reply = served.get(f"/workspaces/{one['id']}/{what}")
            good = one["path"] == str(host.cli.directory)
            assert reply.status == 200 if good else 400 <= reply.status < 500, (one, what, reply)


def test_planted_transcripts_are_read_or_refused(
    host: Host, served: InProcess, cli: Cli, tmp_path: Path
) -> None:
    one = served.workspace
    asked = f"{one}/checkpoints/@/messages"
    whole = served.get(asked).ok()
    assert whole["total"] == 6
    markup = "<img src=x onerror=alert(1)>\r\n\u202e\x1b[31m"
    with host.transcript.open("ab") as file:
        file.write(b"[" * 100_000 + b"\n\xff\xfe\n{\n" + json.dumps([1]).encode() + b"\n")
        file.write(json.dumps({"role": markup, "content": {"a": markup}}).encode() + b"\n")
        file.write(json.dumps({"role": "user", "content": [markup, {"text": 1}]}).encode() + b"\n")
    host.turn(markup, {"a.txt": b"x"})
    host.transcript.rename(tmp_path / "away")
    os.mkfifo(host.transcript)
    reply = served.get(asked).ok()
    assert reply["messages"][-2]["text"] == markup.strip()
    host.transcript.unlink()
    host.transcript.symlink_to("/dev/zero")
    assert served.get(asked).ok() == reply


def test_a_workspace_that_never_answers_holds_up_no_other(
    host: Host, cli: Cli, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a").write_text("1")
    Cli(other).ok("checkpoint")
    [stuck] = [one for one in Takeback.workspaces() if one.root == os.fsencode(other)]
    store = Path(stuck.store)
    with serving(cli) as server:
        tb = Client(server.url, str(server.secret_file))
        own = next(one["id"] for one in tb.workspaces() if one["path"] == str(cli.directory))
        heard: list[str] = []

        def listen() -> None:
            for event in tb.events():
                heard.append(event.data["workspace"])
                if own in heard:
                    return

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        (store / "format").unlink()
        os.mkfifo(store / "format")
        folders = [one for one in (store / "store.git" / "refs").rglob("*") if one.is_dir()]

        def is_told() -> bool:
            for folder in folders:  # as if something had happened there, again until it listens
                os.utime(folder)
            return stuck.id in heard

        until(is_told)
        host.turn("go on", {"a.txt": b"x"})
        thread.join(60)
        assert own in heard
        os.close(os.open(store / "format", os.O_RDWR | os.O_NONBLOCK))  # lets it go
        server.process.kill()


def test_links_in_the_server_s_folder_lead_nowhere(host: Host, cli: Cli, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "work").write_text("mine")
    base = Path(takeback_home(os.environ)) / "serve"
    base.mkdir(mode=0o700)
    (base / "4000000000").symlink_to(victim)
    (base / "left").mkdir()
    (base / "left" / "secret").write_text("old")
    (base / str(os.getpid())).symlink_to(victim)
    with PrivateFiles(os.environ) as files:
        assert os.path.realpath(files.directory) == files.directory
        assert not os.path.islink(files.directory)
    assert (victim / "work").read_text() == "mine"
    assert not any(base.iterdir())


def test_a_fork_s_directory_is_one_plain_name(host: Host, served: InProcess) -> None:
    one = served.workspace
    for name in (
        "a/b",
        "..",
        ".",
        "",
        "a\n",
        "a\0",
        "/tmp/x",
        "\u00e9",
        "a b",
        "x" * 101,
        "\ud800",
    ):
        fields = {"kind": "fork", "target": "turn:2", "directory": name}
        assert served.post(f"{one}/plan", fields).status == 400, name
    taken = {"kind": "fork", "target": "turn:2", "directory": host.cli.directory.name}
    reply = served.post(f"{one}/plan", taken)
    assert 400 <= reply.status < 500 or reply.json["refused"], reply


def test_a_server_is_not_started_from_inside_a_turn(host: Host, cli: Cli) -> None:
    with agent() as own:
        host.cli = cli.told_by(own)
        host.prompt("go")
        refused = cli.inside(own).run("--json", "serve")
    assert refused.status == 13
    assert refused.error["code"] == "refused"
    with serving(cli) as server:
        assert server.get("/workspaces").status == 200
