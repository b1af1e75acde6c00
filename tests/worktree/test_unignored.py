"""Names for which git is not asked: those that surely no rule matches, and no others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from takeback.git.process import Git, find_git
from takeback.model.coverage import Policy
from takeback.worktree.rules import IgnoreRules, Rules, Unignored
from tests.support.git import git

PIECES = [
    "a",
    "b",
    "ab",
    "A",
    ".",
    "x.log",
    "*",
    "**",
    "?",
    "[ab]",
    "[!a]",
    "[a/]",
    "[a/b]",
    "[!/]",
    "[/-z]",
    "[a-b]",
    "[",
    "]",
    "/",
    "!",
    "#",
]
ODD = ["\\", " ", "\t", "\r", "ü", "\ufeff"]
NAMES = [*"abA[ü", "ab", "ba", "x.log", "a.log", "#a", "!a", "a b", "a ", "a]", ".a"]

rules = st.lists(st.sampled_from(PIECES * 3 + ODD), min_size=1, max_size=5).map("".join)
files = st.lists(rules, max_size=4).flatmap(
    lambda lines: st.sampled_from(["\n".join(lines), "\n".join(lines) + "\n", "\r\n".join(lines)])
)
paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)


@pytest.fixture
def store(workspace: Path) -> Git:
    git(workspace.parent, "init", "--quiet", "--bare", "--template=", "store.git")
    return Git(find_git(os.environ), str(workspace.parent / "store.git"))


@given(root=files, below=files, info=files, excludes=files, asked=st.lists(paths, max_size=12))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_what_it_is_sure_of_git_confirms(
    workspace: Path,
    store: Git,
    root: str,
    below: str,
    info: str,
    excludes: str,
    asked: list[str],
) -> None:
    (workspace / "a").mkdir(exist_ok=True)
    users = workspace.parent / "excludes"
    for file, text in ((".gitignore", root), ("a/.gitignore", below), (users, excludes)):
        (workspace / file).write_bytes(text.encode())
    given = {"excludes_file": os.fsencode(users), "exclude_info": info.encode()}
    unignored = Unignored(os.fsencode(workspace), **given)
    by_git = IgnoreRules(store, str(workspace), **given)  # type: ignore[arg-type]
    sure = [path for path in map(str.encode, asked) if unignored.surely(path)]
    try:
        assert by_git.ignored(sure) == [False] * len(sure)
    finally:
        by_git.close()


@pytest.mark.slow
@given(root=files, below=files, asked=st.lists(paths, min_size=1, max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_the_verdict_is_that_of_git_whether_git_is_asked_or_not(
    workspace: Path, store: Git, root: str, below: str, asked: list[str]
) -> None:
    (workspace / "a").mkdir(exist_ok=True)
    (workspace / ".gitignore").write_bytes(root.encode())
    (workspace / "a/.gitignore").write_bytes(below.encode())

    def make(excludes_file: bytes | None, exclude_info: bytes) -> IgnoreRules:
        return IgnoreRules(
            store, str(workspace), excludes_file=excludes_file, exclude_info=exclude_info
        )

    names = [path.encode() for path in asked]
    rules, by_git = Rules(os.fsencode(workspace), Policy(), os.environ, make), make(None, b"")
    try:
        assert rules.ignored(names) == by_git.ignored(names)
    finally:
        rules.close()
        by_git.close()


@pytest.mark.parametrize(
    "rule", ["sec[r/]et", "/sec[r/]et", "x/sec[/r]et", "[s/]ecret", "sec[^/]et", "se[c-r/]ret"]
)
def test_a_slash_within_brackets_is_a_question_for_git(workspace: Path, rule: str) -> None:
    (workspace / ".gitignore").write_text(rule + "\n")
    unignored = Unignored(os.fsencode(workspace), excludes_file=None, exclude_info=b"")
    assert not unignored.surely(b"secret")


RULES = """\
# made
*.pyc
__pycache__/
/build/
dist
.env*
!.env.example
docs/**/*.tmp\r
log?.txt\x20
"""


@pytest.fixture
def ruled(workspace: Path) -> Unignored:
    """A workspace with the rules of an ordinary project."""
    (workspace / ".gitignore").write_text(RULES)
    (workspace / "sub").mkdir()
    (workspace / "sub" / ".gitignore").write_text("local\n")
    return Unignored(os.fsencode(workspace), excludes_file=None, exclude_info=b"*.swp\n")


@pytest.mark.parametrize(
    ("path", "sure"),
    [
        (b"main.py", True),
        (b"src/app/main.py", True),
        (b"docs/notes.md", True),
        (b"local", True),
        (b"sub/other", True),
        (b"a.pyc", False),
        (b"src/__pycache__/x", False),
        (b"src/build/x", False),  # no rule matches, and only git knows that
        (b"DIST", False),
        (b".env", False),
        (b".env.example", False),
        (b"docs/a/b.tmp", False),
        (b"log1.txt", False),
        (b"sub/local", False),
        (b"sub/deeper/local", False),
        (b".main.py.swp", False),
        (b"x" * 1000, False),
    ],
)
def test_an_ordinary_project(ruled: Unignored, path: bytes, sure: bool) -> None:
    assert ruled.surely(path) is sure


@pytest.mark.parametrize("odd", ["link", "fifo", "directory", "unreadable", "large", "backslash"])
def test_with_an_odd_file_of_rules_it_is_sure_of_nothing(workspace: Path, odd: str) -> None:
    file = workspace / ".gitignore"
    if odd == "link":
        (workspace / "rules").touch()
        file.symlink_to("rules")
    elif odd == "fifo":
        os.mkfifo(file)
    elif odd == "directory":
        file.mkdir()
    elif odd == "unreadable":
        file.symlink_to(".gitignore")
    elif odd == "large":
        file.write_bytes(b"#" * (1 << 17))
    else:
        file.write_bytes(b"a\\b\n")
    unignored = Unignored(os.fsencode(workspace), excludes_file=None, exclude_info=b"")
    assert not unignored.surely(b"main.py")
    assert not unignored.surely(b"src/main.py")
