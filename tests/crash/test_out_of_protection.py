"""A model tries to take a person's files out of protection between two turns, then destroys them.

Whatever it does in its first turn, going back to the prompt of its second brings back what the
person had then, or names the path and is not whole (exit 3).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from takeback import Takeback
from takeback.model.operation import Outcome
from tests.support.git import git

MINE = ("src/mine.txt", "src/deep/mine.bin", "notes.txt", "local.env", "build/keep.txt")
LARGE = bytes(1_100_000)
"""Too large to be saved beside a snapshot once it is ignored."""

POINTER = "mkdir src/.g; echo ref: refs/heads/x > src/.g/HEAD; echo .. > src/.g/commondir; "
PYTHON = "import os, socket; "

ATTACKS = {
    # ignore rules
    "a line in info/exclude": "echo src/ >> .git/info/exclude",
    "everything in info/exclude": "echo '*' > .git/info/exclude",
    "everything in .gitignore": "echo '*' > .gitignore",
    "a .gitignore in the directory": "echo '*' > src/.gitignore",
    "a .gitignore that hides itself": "printf '.gitignore\\nmine*\\n' > src/deep/.gitignore",
    "both ends of the path": "printf '/src\\n/notes.txt\\nbuild\\n' > .gitignore",
    "a rule that git takes long over": "echo '**/*i*n*e*' > .gitignore; echo '*' >> .gitignore",
    "an excludes file of the project": "echo '*' > .x; git config core.excludesFile $PWD/.x",
    "an excludes file of the user": "cd; mkdir -p .config/git; echo '*' > .config/git/ignore",
    # ignore files that are none
    "a FIFO for .gitignore": "rm .gitignore; mkfifo .gitignore",
    "a FIFO for .gitignore below": "mkfifo src/.gitignore",
    "100 GB of .gitignore": "truncate -s 100G .gitignore",
    "2 MB of rules": "yes '*' | head -c 2000000 > .gitignore",
    "a socket for .gitignore": f"rm .gitignore; {sys.executable} -c "
    f"\"{PYTHON}socket.socket(socket.AF_UNIX).bind('.gitignore')\"",
    "a link to an endless file": "ln -sf /dev/zero .gitignore",
    "a directory for .gitignore": "rm .gitignore; mkdir .gitignore",
    "a FIFO for info/exclude": "rm -f .git/info/exclude; mkfifo .git/info/exclude",
    "100 GB of info/exclude": "truncate -s 100G .git/info/exclude",
    "a FIFO for the excludes file": "mkfifo .x; git config core.excludesFile $PWD/.x",
    "an endless excludes file": "git config core.excludesFile /dev/zero",
    # repositories
    "a pointer to a worktree": POINTER + "echo gitdir: .g > src/.git",
    "the pointer of a real worktree": "git worktree add -q ../wt; mv ../wt/.git src/.git",
    "a repository of its own": "git init -q src; echo '*' > src/.git/info/exclude",
    "a repository that tracks nothing": "git init -q src/deep; echo '*' > src/deep/.gitignore",
    "a pointer back to the project": "echo gitdir: ../.git > src/.git; echo src > .gitignore",
    "a common directory elsewhere": "mkdir -p .c/info; echo '*' > .c/info/exclude; "
    "echo ../.c > .git/commondir",
    "the project's .git is a pointer": "mv .git ../moved; echo gitdir: ../moved > .git; "
    "echo '*' > ../moved/info/exclude",
    "no repository any more": "rm -rf .git; echo '*' > .gitignore",
    "an index that forgets": "git rm -q --cached -r . ; echo 'build/' > .gitignore",
    "an index of garbage": "echo garbage > .git/index; echo '*' > .gitignore",
    "a FIFO for the index": "rm .git/index; mkfifo .git/index; echo 'src' > .gitignore",
    # heaps
    "sixty giants of nothing": "for i in $(seq 60); do truncate -s 99M big$i; done",
    "400 levels": f'{sys.executable} -c "{PYTHON}'
    "[(os.mkdir('d'), os.chdir('d')) for _ in range(400)]\"",
    "a heap of small ignored files": "for i in $(seq 60); do head -c 1M /dev/zero > .$i.env; done",
    "names of takeback's own": "t=.takeback-aaaaaaaaaaaa-0; mv src $t; ln -s $t src",
    # sleights of hand
    "another inode and a rule": "cp -r src s; rm -rf src; mv s src; echo src/ > .gitignore",
    "to and fro with a rule": "mv src .s; mv .s src; echo '*' > .git/info/exclude",
    "a link in the directory's place": "mv src real; ln -s real src; echo /src > .gitignore",
    "times of the next century": "touch -d 2100-01-01 src/mine.txt src; echo src > .gitignore",
    "no rights to the rules": "echo '*' > .gitignore; chmod 0 .gitignore",
}
"""What the model runs in its first turn, in the workspace."""


@pytest.fixture
def project(workspace: Path) -> Path:
    """The person's project: five files of theirs, an ignored one and a tracked-but-ignored one."""
    (workspace / ".gitignore").write_text("*.env\nbuild/\n")
    for name in MINE:
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).write_text("as it was\n")
    (workspace / "src" / "deep" / "mine.bin").write_bytes(LARGE)
    git(workspace, "add", ".gitignore", "notes.txt")
    git(workspace, "add", "--force", "build/keep.txt")
    git(workspace, "commit", "--quiet", "--message=x")
    return workspace


def turns(project: Path, attack: str) -> Outcome:
    """Two turns with the person's own work between them, and the way back to the second prompt."""
    with Takeback.open(project) as tb, tb.session(agent="mine", native="s").turn("one"):
        subprocess.run(["sh", "-c", attack], cwd=project, check=True, timeout=60)
    for name in MINE:
        with open(project / name, "ab") as file:
            file.write(b"the person's work\n")
    with Takeback.open(project) as tb:
        with tb.session(agent="mine", native="s").turn("two") as turn:
            for name in MINE[::2]:
                (project / name).write_bytes(b"destroyed")
            for name in MINE[1::2]:
                (project / name).unlink()
        return tb.rewind(turn.before)


def not_back(project: Path) -> set[str]:
    """Returns those of the person's files that are not as they were at the second prompt."""
    return {
        name
        for name in MINE
        if not (project / name).is_file()
        or not (project / name).read_bytes().endswith(b"the person's work\n")
    }


def named(outcome: Outcome) -> set[str]:
    """Returns the person's files that the outcome names, or a directory above them."""
    left = [os.fsdecode(item.path) for item in outcome.left_alone if not item.by_rule]
    return {name for name in MINE if any(Path(name).is_relative_to(path) for path in left)}


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_was_held_comes_back_or_is_named(project: Path, attack: str) -> None:
    outcome = turns(project, ATTACKS[attack])
    lost = not_back(project)
    assert lost <= named(outcome)
    assert not (lost and outcome.whole)
    if attack not in NAMED:
        assert lost == set()


NAMED: set[str] = set()
"""The attacks after which a path is not back, and named."""
