"""The demo proves what it shows, and leaves the person's own things alone."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.cli.typing_person import at_a_terminal
from tests.support.cli import Cli


def test_every_proof_holds(cli: Cli, tmp_path: Path) -> None:
    done = cli.ok("--json", "demo", "--dir", str(tmp_path / "demo")).json
    assert done["type"] == "demo"
    assert done["held"] is True
    assert [proof["held"] for proof in done["proofs"]] == [True] * 9
    assert all(proof["compared"] > 0 for proof in done["proofs"])
    assert len(done["checkpoints"]) == 3


def test_it_reads_well_and_its_own_advice_works(cli: Cli, tmp_path: Path) -> None:
    answer = cli.ok("demo", "--dir", str(tmp_path / "demo"))
    text = answer.stdout
    assert text.count("type, mode and every byte the same") == 6
    assert "\x1b" not in text
    assert answer.stderr == ""
    advice = text.partition("Look around:\n")[2].partition("Remove it all: ")
    typed = advice[0].replace("takeback undo", "takeback undo --yes")
    assert typed.count("  takeback ") == 5
    environ = {**os.environ, "PATH": "/usr/bin:/bin"}  # as after `make demo`: nothing installed
    seen = subprocess.run(
        ["sh", "-e", "-c", typed], env=environ, cwd=tmp_path, capture_output=True, text=True
    )
    assert seen.returncode == 0, seen.stderr
    subprocess.run(["sh", "-c", advice[2]], check=True)
    assert not (tmp_path / "demo").exists()


def test_it_shows_sessions_a_fork_and_the_tree(cli: Cli, tmp_path: Path) -> None:
    text = cli.ok("demo", "--dir", str(tmp_path / "demo")).stdout
    assert "the agent, resumed, remembers 2 prompts and nothing later" in text
    assert "demo-agent --resume first." in text
    assert 'turn 3   now  "clean up, but only what nobody uses"  CHANGES.md' in text
    assert "<- here" in text


def test_the_stores_of_the_person_are_not_touched(cli: Cli, tmp_path: Path) -> None:
    cli.ok("demo", "--dir", str(tmp_path / "demo"))
    assert not Path(os.environ["TAKEBACK_HOME"]).exists()


def test_it_plays_only_in_an_empty_directory(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("x")
    answer = cli.run("--json", "demo", "--dir", str(tmp_path / "mine"))
    assert (answer.status, answer.error["code"]) == (13, "refused")
    assert os.listdir(tmp_path / "mine") == ["file"]


def test_at_a_terminal_it_is_coloured(cli: Cli, tmp_path: Path) -> None:
    seen = at_a_terminal(cli, "demo", "--fast", "--dir", str(tmp_path / "demo"))
    assert seen.status == 0
    assert "\x1b[32mproof: " in seen.screen
