"""Which directory is protected, and which path lies in it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from takeback.errors import NotAWorkspace
from takeback.worktree.workspace import Workspace, find_root
from tests.support.git import git


def root_of(start: Path, *stores: Path, home: Path = Path("/nonexistent")) -> Path:
    """Returns the root that ``start`` lies in, when ``stores`` are known workspaces."""
    known = {os.fsencode(store) for store in stores}
    has_store: Callable[[bytes], bool] = known.__contains__
    found = find_root(os.fsencode(start), has_store=has_store, home=os.fsencode(home))
    return Path(os.fsdecode(found))


@pytest.fixture
def nested(workspace: Path) -> Path:
    (workspace / "sub" / "deep").mkdir(parents=True)
    return workspace


def test_without_git_the_directory_itself_is_the_root(tmp_path: Path) -> None:
    (tmp_path / "plain" / "sub").mkdir(parents=True)
    assert root_of(tmp_path / "plain" / "sub") == tmp_path / "plain" / "sub"


def test_inside_a_repository_its_root_is_the_root(nested: Path) -> None:
    assert root_of(nested / "sub" / "deep") == nested


def test_the_nearest_ancestor_with_a_store_comes_before_the_repository(nested: Path) -> None:
    assert root_of(nested / "sub" / "deep", nested / "sub") == nested / "sub"
    assert root_of(nested, nested.parent) == nested.parent
    assert root_of(nested / "sub", nested.parent, nested) == nested


def test_a_linked_worktree_is_a_workspace_of_its_own(nested: Path) -> None:
    git(nested, "commit", "--quiet", "--allow-empty", "--message=x")
    git(nested, "worktree", "add", "--quiet", "sub/linked")
    (nested / "sub" / "linked" / "x").mkdir()
    assert root_of(nested / "sub" / "linked" / "x", nested) == nested / "sub" / "linked"


def test_a_repository_that_is_the_home_directory_does_not_count(nested: Path) -> None:
    assert root_of(nested / "sub", home=nested) == nested / "sub"


def test_a_link_to_a_workspace_leads_to_its_real_path(nested: Path) -> None:
    (nested.parent / "link").symlink_to(nested / "sub")
    assert root_of(nested.parent / "link") == nested


@pytest.mark.parametrize("what", ["file", "missing", "dangling"])
def test_what_is_no_directory_is_no_workspace(workspace: Path, what: str) -> None:
    (workspace / "file").touch()
    (workspace / "dangling").symlink_to("nowhere")
    with pytest.raises(NotAWorkspace):
        root_of(workspace / what)


def test_the_root_stays_open_when_its_name_goes(workspace: Path) -> None:
    opened = Workspace(os.fsencode(workspace))
    (workspace / "a").touch()
    workspace.rename(workspace.parent / "renamed")
    assert b"a" in [os.fsencode(name) for name in os.listdir(opened.fd)]
    opened.close()


def test_a_root_that_is_a_link_or_gone_cannot_be_opened(workspace: Path) -> None:
    (workspace / "link").symlink_to(workspace)
    for path in (workspace / "link", workspace / "missing"):
        with pytest.raises(NotAWorkspace, match="cannot open"):
            Workspace(os.fsencode(path))


@pytest.mark.parametrize(
    ("base", "given", "relative"),
    [
        ("", "a", b"a"),
        ("", ".", b""),
        ("", "", b""),
        ("", "missing/x", b"missing/x"),
        ("", "a/../b", b"b"),
        ("sub", "x", b"sub/x"),
        ("sub", "..", b""),
        ("sub", "../a/", b"a"),
        ("", "inner", b"inner"),  # a link is meant itself
        ("", "inner/x", b"inner/x"),  # what is a link now may have been a directory
        ("", "outer/x", b"outer/x"),
        ("", "../short/inner/x", b"inner/x"),
        ("", "../deep/x", b"sub/x"),  # a link from outside into the workspace
        ("", "sub/deep/../../a", b"a"),
    ],
)
def test_a_path_is_told_relative_to_the_root(
    nested: Path, base: str, given: str, relative: bytes
) -> None:
    (nested / "inner").symlink_to("sub")
    (nested / "outer").symlink_to("/etc")
    (nested.parent / "short").symlink_to(nested)
    (nested.parent / "deep").symlink_to(nested / "sub")
    opened = Workspace(os.fsencode(nested))
    found = opened.relative(os.fsencode(given), base=os.fsencode(nested / base))
    opened.close()
    assert found == relative


@pytest.mark.parametrize(
    ("given", "meant"), [("a", b"a"), ("inner", b"inner"), ("inner/x", b"sub/x"), (".", b"")]
)
def test_what_a_program_means_follows_the_links(nested: Path, given: str, meant: bytes) -> None:
    (nested / "inner").symlink_to("sub")
    (nested / "outer").symlink_to("/etc")
    opened = Workspace(os.fsencode(nested))
    assert opened.resolved(os.fsencode(given), base=os.fsencode(nested)) == meant
    with pytest.raises(ValueError, match="outside"):
        opened.resolved(b"outer/x", base=os.fsencode(nested))
    opened.close()


@pytest.mark.parametrize(
    "given", ["..", "../workspace2", "/", "/etc/passwd", "../workspace2/x", "sub/../.."]
)
def test_a_path_outside_is_a_value_error(nested: Path, given: str) -> None:
    (nested / "outer").symlink_to("/etc")
    (nested.parent / "workspace2").mkdir()
    opened = Workspace(os.fsencode(nested))
    with pytest.raises(ValueError, match="outside"):
        opened.relative(os.fsencode(given), base=os.fsencode(nested))
    opened.close()
