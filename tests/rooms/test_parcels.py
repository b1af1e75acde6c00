"""A session for an agent that imports: handed over once, by a program nobody planted."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback import durable, errors
from takeback.adapters import adapter_named
from takeback.app.engine import Engine
from takeback.model.operation import Outcome
from takeback.store.namespace import session_id
from takeback.turns.receive import Delivery

SECRET = "hunter2-in-the-conversation"
SESSION = "ses_e209d8a4effevk6RG38eDczRkK"


def message(number: int, role: str, text: str) -> str:
    own = {"id": f"msg_00000000000{number}abcdefgh", "role": role, "sessionID": SESSION}
    part = {"id": f"prt_00000000000{number}abcdefgh", "type": "text", "text": text}
    return json.dumps({"info": own, "parts": [part]}) + "\n"


def two_turns(workspace: Path) -> None:
    adapter = adapter_named("opencode")
    said = ""
    with Engine.open(workspace) as tb:
        for number, prompt in ((1, f"say {SECRET}"), (3, "two")):
            for event, more in (
                ("chat.message", {"message": f"msg_00000000000{number}abcdefgh"}),
                ("session.idle", {}),
            ):
                session = json.dumps({"session": {"id": SESSION, "version": "1.18"}}) + "\n"
                payload = {
                    "event": event,
                    "sessionID": SESSION,
                    "directory": str(workspace),
                    "texts": [{"text": prompt}],
                    "conversation": said + session,
                    **more,
                }
                told = adapter.parse(payload, os.environ)
                assert told is not None
                tb.record(told, delivery=Delivery(tb.now, 5))
                said += message(number, "user", prompt) if event == "chat.message" else ""
            said += message(number + 1, "assistant", "done")
            (workspace / "a.txt").write_text(prompt)


class Program:
    """An opencode that writes down how it is called."""

    def __init__(self, folder: Path, seen: Path) -> None:
        folder.mkdir(parents=True)
        self.seen = seen
        self.fails = folder / "fails"
        self.path = folder / "opencode"
        self.path.write_text(
            "#!/bin/sh\n"
            f'{{ pwd; echo "$@"; cat "$2"; echo; env; }} > "{seen}"\n'
            f'if [ -e "{self.fails}" ]; then echo "no such table" >&2; exit 3; fi\n'
        )
        self.path.chmod(0o755)

    def was_called(self) -> list[str]:
        """Returns the lines it wrote; each call is looked at once."""
        if not self.seen.exists():
            return []
        lines = self.seen.read_text().splitlines()
        self.seen.unlink()
        return lines


@pytest.fixture
def opencode(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Program]:
    made = Program(tmp_path / "bin", tmp_path / "seen")
    planted = Program(workspace / "node_modules" / ".bin", tmp_path / "planted")
    (workspace / ".gitignore").write_text("node_modules\n")
    path = f"{planted.path.parent}:{made.path.parent}:{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    two_turns(workspace)
    yield made
    assert not planted.seen.exists(), "a program of the workspace was run"


def parcels() -> list[Path]:
    return list(Path(os.environ["TAKEBACK_HOME"]).rglob("parcels/*"))


def rewind(workspace: Path, name: str = "turn:2") -> Outcome:
    with Engine.open(workspace) as tb:
        return tb.rewind(name, scope="both")


def test_a_new_session_is_imported_and_opened_by_a_plain_line(
    workspace: Path, opencode: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODE_OPTIONS", f"--require={workspace}/evil.js")
    monkeypatch.setenv("LD_PRELOAD", f"{workspace}/evil.so")
    monkeypatch.setenv("OPENCODE_CONFIG", f"{workspace}/evil.json")
    done = rewind(workspace)
    assert done.session is not None
    assert done.resume is not None
    program, option = done.resume.argv
    native = option.removeprefix("--session=")
    assert (program, session_id("opencode", native)) == ("opencode", done.session)
    where, argv, document, *environ = opencode.was_called()
    assert where == str(workspace)
    assert argv.startswith("import ")
    assert argv.endswith(f"/parcels/{native}.json")
    assert SECRET in document
    names = {line.partition("=")[0] for line in environ}
    assert names.isdisjoint({"NODE_OPTIONS", "LD_PRELOAD", "OPENCODE_CONFIG", "TAKEBACK_HOME"})
    assert {"OPENCODE_DISABLE_PROJECT_CONFIG=1", "OPENCODE_PURE=1"} <= set(environ)
    [path] = (line for line in environ if line.startswith("PATH="))
    assert str(workspace) not in path
    assert parcels() == []


def test_it_is_imported_once(workspace: Path, opencode: Program) -> None:
    rewind(workspace)
    assert opencode.was_called()
    with Engine.open(workspace) as tb:
        back = tb.undo()
        assert back.resume is not None
        assert back.resume.argv == ("opencode", f"--session={SESSION}")
        assert tb.redo().resume is not None
    assert opencode.was_called() == []


def test_without_opencode_nothing_is_done(workspace: Path, opencode: Program) -> None:
    opencode.path.unlink()
    with Engine.open(workspace) as tb:
        with pytest.raises(errors.Refused, match="there is no opencode") as refused:
            tb.rewind("turn:2", scope="both")
        assert "passed over" in refused.value.message, "the planted one is named"
        assert "--files" in refused.value.hint
        assert tb.choices("turn:2").no_conversation is not None
        assert (workspace / "a.txt").read_text() == "two"
        tb.rewind("turn:2", scope="files")
    assert parcels() == []


def test_what_opencode_does_not_take_waits_and_is_tried_again(
    workspace: Path, opencode: Program
) -> None:
    opencode.fails.touch()
    done = rewind(workspace)
    assert (workspace / "a.txt").read_text() == f"say {SECRET}"
    assert done.resume is None
    assert "no such table" in (done.conversation_error or "")
    [waiting] = parcels()
    opencode.fails.unlink()
    opencode.was_called()
    again = rewind(workspace)
    assert again.resume is not None
    assert again.resume.argv[1] == f"--session={waiting.stem}"
    assert opencode.was_called()
    assert parcels() == []


def test_a_session_that_a_crash_left_waiting_is_handed_over_later(
    workspace: Path, opencode: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Engine.open(workspace) as tb, monkeypatch.context() as dead:
        dead.setattr("takeback.fork.session_file.deliver", lambda *args: None)
        done = tb.rewind("turn:2", scope="both")
    assert opencode.was_called() == []
    assert len(parcels()) == 1
    assert rewind(workspace).session == done.session
    assert opencode.was_called()
    assert parcels() == []


def test_a_link_in_the_place_of_the_parcels_leads_nowhere(
    workspace: Path, opencode: Program, tmp_path: Path
) -> None:
    with Engine.open(workspace) as tb:
        outside = tmp_path / "outside"
        outside.mkdir()
        durable.symlink(os.fsencode(outside), os.path.join(tb.store_directory, "parcels"))
        with pytest.raises(errors.Refused, match="cannot be written"):
            tb.rewind("turn:2", scope="both")
    assert list(outside.iterdir()) == []


def test_forget_leaves_nothing_of_the_conversation_behind(
    workspace: Path, opencode: Program
) -> None:
    opencode.fails.touch()
    rewind(workspace)
    assert parcels()
    with Engine.open(workspace) as tb:
        tb.forget(now=True)
    home = Path(os.environ["TAKEBACK_HOME"])
    left = [path for path in home.rglob("*") if path.is_file()]
    assert [path for path in left if SECRET.encode() in path.read_bytes()] == []
    assert [path.name for path in left if path.name != "making.lock"] == ["machine"]
