"""A process may have few files open: 256 is the default of macOS, and sandboxes give less."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.support.cli import Cli
from tests.support.lanes import cases
from tests.support.trees import differences, tree_state

DIRECTORIES = 300


@dataclass(frozen=True, slots=True)
class LimitedCli(Cli):
    """takeback under ``ulimit -n``."""

    descriptors: int = 256

    def argv(self, *args: str | bytes) -> list[str | bytes]:
        limit = f'ulimit -n {self.descriptors} && exec "$@"'
        return ["sh", "-c", limit, "sh", *Cli.argv(self, *args)]


def fill(root: Path, content: str) -> None:
    for number in range(DIRECTORIES):
        directory = root / f"d{number}"
        (directory / "sub").mkdir(parents=True, exist_ok=True)
        (directory / "f").write_text(f"{content} {number}")
        (directory / "sub" / content).write_text(content)


@cases("descriptors, packs", [64, 256], [1, 12], each=3)
def test_capture_rewind_undo_redo_with_few_descriptors(
    workspace: Path, descriptors: int, packs: int
) -> None:
    cli = LimitedCli(workspace, timeout=120, descriptors=descriptors)
    for number in range(packs):
        (workspace / "more").write_text(str(number))
        cli.ok("checkpoint")
    fill(workspace, "then")
    cli.ok("checkpoint", "-m", "then")
    then = tree_state(workspace)
    for number in range(DIRECTORIES):
        shutil.rmtree(workspace / f"d{number}" / "sub")
    fill(workspace, "now")
    now = tree_state(workspace)
    for words, wanted in (
        (("rewind", "then", "--files", "--yes", "--force"), then),
        (("undo", "--yes", "--force"), now),
        (("redo", "--yes", "--force"), then),
    ):
        cli.ok(*words)
        assert differences(wanted, tree_state(workspace)) == []
