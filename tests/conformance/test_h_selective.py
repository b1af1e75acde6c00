"""H. Taking back only what is meant (90, 91)."""

from __future__ import annotations

from pathlib import Path

from tests.support.cli import Cli
from tests.support.host import Host
from tests.support.journey import write_files
from tests.support.trees import tree_state

LINES = [b"line %d\n" % number for number in range(1, 9)]


def text(**changed: bytes) -> bytes:
    """Returns the text with some of its lines changed: ``text(_3=b"three")``."""
    lines = dict(enumerate(LINES, 1))
    lines.update((int(name[1:]), line + b"\n") for name, line in changed.items())
    return b"".join(lines.values())


def three_turns(cli: Cli, workspace: Path, folder: Path) -> Host:
    write_files(workspace, {"text": text(), "kept": b"kept\n"})
    host = Host(cli, folder)
    host.turn("one", {"text": text(_1=b"one")})
    host.turn("four", {"text": text(_1=b"one", _4=b"four"), "new": b"new\n"})
    host.turn("eight", {"text": text(_1=b"one", _4=b"four", _8=b"eight")})
    return host


def test_90_one_turn_goes_and_the_later_ones_stay(
    cli: Cli, workspace: Path, tmp_path: Path
) -> None:
    three_turns(cli, workspace, tmp_path)
    cli.ok("revert", "turn:2", "--yes")
    assert (workspace / "text").read_bytes() == text(_1=b"one", _8=b"eight")
    assert not (workspace / "new").exists()
    cli.ok("undo", "--yes")
    assert (workspace / "text").read_bytes() == text(_1=b"one", _4=b"four", _8=b"eight")
    assert (workspace / "new").read_bytes() == b"new\n"


def test_90_what_the_person_typed_in_the_same_file_is_kept(
    cli: Cli, workspace: Path, tmp_path: Path
) -> None:
    three_turns(cli, workspace, tmp_path)
    write_files(workspace, {"text": text(_1=b"one", _4=b"four", _6=b"mine", _8=b"eight")})
    cli.ok("rewind", "turn:1", "--files", "--keep-edits", "--yes")
    assert (workspace / "text").read_bytes() == text(_6=b"mine")


def test_90_a_conflict_is_named_and_never_guessed(
    cli: Cli, workspace: Path, tmp_path: Path
) -> None:
    host = three_turns(cli, workspace, tmp_path)
    host.turn("acht", {"text": text(_1=b"one", _4=b"four", _8=b"acht")})
    before = tree_state(workspace, identity=True)
    refused = cli.run("revert", "turn:3", "--yes")
    assert refused.status == 13
    assert "changed again since: text" in refused.stderr
    assert tree_state(workspace, identity=True) == before
    cli.ok("revert", "turn:3", "--yes", "--conflicts=theirs")
    assert (workspace / "text").read_bytes() == text(_1=b"one", _4=b"four")


def test_91_each_line_is_blamed_on_its_turn(cli: Cli, workspace: Path, tmp_path: Path) -> None:
    three_turns(cli, workspace, tmp_path)
    found = cli.ok("--json", "blame", "text").json
    prompts = [found["authors"][line["author"]].get("prompt") for line in found["lines"]]
    assert prompts == ["one", None, None, "four", None, None, None, "eight"]


def test_91_the_turn_that_broke_it_is_found_and_the_workspace_is_not_touched(
    cli: Cli, workspace: Path, tmp_path: Path
) -> None:
    three_turns(cli, workspace, tmp_path)
    before = tree_state(workspace, identity=True)
    found = cli.ok(
        "--json", "bisect", "turn:1", "turn:3.end", "--", "sh", "-c", "! grep -q four text"
    ).json_lines
    assert [place["number"] for place in found[-1]["broken"]] == [2], found
    assert tree_state(workspace, identity=True) == before
