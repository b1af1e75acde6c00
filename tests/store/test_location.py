"""Which store belongs to which directory, also after a move, a copy or a new start."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from takeback import kernel
from takeback.model.checkpoint import Checkpoint
from takeback.store import location as locations
from takeback.store import location as succession
from takeback.store.location import Identity, StoreLocation, machine_of
from takeback.store.store import Store
from tests.support.engine import Heard, checkpoint, heard_by, opened, refs_of
from tests.support.git import git


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A directory without git, with one file."""
    directory = tmp_path / "plain"
    directory.mkdir()
    (directory / "a").write_text("1")
    return directory


def one_checkpoint(root: Path) -> Checkpoint:
    with opened(root) as context:
        return checkpoint(context)


def known_at(root: Path) -> bool:
    """Tells whether the directory is found to have checkpoints."""
    with opened(root) as context:
        return bool(context.store.refs.list("refs/takeback/sessions"))


def home() -> str:
    return os.environ["TAKEBACK_HOME"]


def test_a_moved_directory_takes_its_store_along_and_says_where_it_was(plain: Path) -> None:
    one_checkpoint(plain)
    moved = plain.rename(plain.parent / "moved to")
    with opened(moved) as context:
        assert context.store.refs.list("refs/takeback/sessions")
        assert heard_by(context).notes == [
            f"This workspace was at {plain} before; its checkpoints came along."
        ]
        assert context.store.location.root == os.fsencode(moved)
    assert [location.root for location in locations.all_locations(home())] == [os.fsencode(moved)]
    with opened(moved) as context:
        assert heard_by(context).notes == []


def test_a_moved_directory_is_found_from_a_directory_inside_it(plain: Path) -> None:
    (plain / "sub").mkdir()
    one_checkpoint(plain)
    moved = plain.rename(plain.parent / "moved")
    with opened(moved / "sub") as context:
        assert context.workspace.root == os.fsencode(moved)


def test_two_directories_that_changed_names_keep_their_own_checkpoints(
    plain: Path, workspace: Path
) -> None:
    mine, other = one_checkpoint(plain), one_checkpoint(workspace)
    plain.rename(plain.parent / "between")
    workspace.rename(plain)
    (plain.parent / "between").rename(workspace)
    with opened(workspace) as context:
        assert context.store.refs.read(refs_of(context.store, "workspace")[0]) == mine.commit
    with opened(plain) as context:
        assert context.store.refs.read(refs_of(context.store, "workspace")[0]) == other.commit


def test_a_copy_is_a_workspace_of_its_own(workspace: Path) -> None:
    one_checkpoint(workspace)
    copy = workspace.parent / "copy"
    shutil.copytree(workspace, copy)
    assert not known_at(copy)
    assert known_at(workspace)


def test_a_directory_made_anew_at_the_same_path_is_another_workspace(plain: Path) -> None:
    one_checkpoint(plain)
    shutil.rmtree(plain)
    plain.mkdir()
    assert not known_at(plain)
    with opened(plain) as context:
        [before] = succession.strangers(home(), context.store.location)
        assert before.root == os.fsencode(plain)


def test_git_init_in_a_workspace_does_not_make_it_another_one(plain: Path) -> None:
    one_checkpoint(plain)
    git(plain, "init", "--quiet")
    assert known_at(plain)


def made_anew_around_its_git(root: Path) -> None:
    old = root.rename(root.parent / "old")
    root.mkdir()
    (old / ".git").rename(root / ".git")
    shutil.rmtree(old)


def test_a_root_made_anew_around_the_same_git_stays_what_it_was(workspace: Path) -> None:
    one_checkpoint(workspace)
    made_anew_around_its_git(workspace)
    assert known_at(workspace)


def test_a_root_made_anew_around_a_git_that_came_later_stays_what_it_was(plain: Path) -> None:
    one_checkpoint(plain)
    git(plain, "init", "--quiet")
    one_checkpoint(plain)
    made_anew_around_its_git(plain)
    assert known_at(plain)


def test_a_root_whose_name_is_not_utf8_has_a_store_and_can_be_moved(tmp_path: Path) -> None:
    root = tmp_path / os.fsdecode(b"caf\xe9 \xff")
    root.mkdir()
    (root / "a").write_text("1")
    one_checkpoint(root)
    [kept] = locations.all_locations(home())
    assert kept.root == os.fsencode(root)
    assert kept.directory.isascii()
    assert known_at(root)
    moved = root.rename(tmp_path / os.fsdecode(b"\xfe"))
    assert known_at(moved)


def test_names_that_look_alike_do_not_share_a_place(tmp_path: Path) -> None:
    roots = [b"/x/a b", b"/x/a_b", b"/y/a_b", b"/", b"/x/" + b"n" * 200, b"/x/" + b"n" * 201]
    found = {locations.find(str(tmp_path), root).directory for root in roots}
    assert len({os.path.dirname(directory) for directory in found}) == len(roots)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"path": 1, "root": "", "git": ""}', "garbage"])
def test_a_store_that_does_not_say_whose_it_is_is_passed_over(plain: Path, text: str) -> None:
    one_checkpoint(plain)
    [kept] = locations.all_locations(home())
    Path(kept.directory, "workspace.json").write_text(text)
    assert list(locations.all_locations(home())) == []
    assert known_at(plain)


@pytest.mark.parametrize("exchanges", [True, False])
def test_stores_that_change_places_keep_everything(
    plain: Path, exchanges: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that was there is kept under another name, whether or not the system exchanges."""
    if not exchanges:
        monkeypatch.setattr(kernel, "exchange", _unsupported)
    one_checkpoint(plain)
    [first] = locations.all_locations(home())
    os.rename(first.directory, f"{first.directory}.earlier")
    one_checkpoint(plain)
    Path(first.directory, "second").touch()
    old = first.replace(directory=f"{first.directory}.earlier")
    with (
        Store.open(old, os.environ).locked("a test", wait=0) as earlier,
        Store.open(first, os.environ).locked("a test", wait=0) as present,
    ):
        succession.change_places(earlier, present)
    assert locations.exists(first)
    assert not Path(first.directory, "second").exists()
    [kept] = succession.strangers(home(), first)
    assert kept.directory == f"{first.directory}.1"
    assert Path(kept.directory, "second").exists()


def _unsupported(*args: object) -> None:
    raise kernel.Unsupported


def test_looking_for_a_place_writes_nothing(plain: Path) -> None:
    location = locations.find(home(), os.fsencode(plain))
    assert not locations.exists(location)
    assert succession.earlier_location(home(), location) is None
    assert not locations.is_known(home(), os.fsencode(plain))
    assert not Path(home()).exists()


def test_what_is_written_of_a_place_reads_back(tmp_path: Path) -> None:
    location = StoreLocation(str(tmp_path), b"/r\xff\n", Identity("a-1", ""), "abc", (b"/s",))
    locations.write_location(location)
    machine = machine_of(location.home)
    assert locations.read_location(str(tmp_path)) == location.replace(machine=machine)


def test_opening_a_known_workspace_tells_nothing(plain: Path) -> None:
    one_checkpoint(plain)
    heard = Heard()
    with opened(plain, reporter=heard):
        pass
    assert heard.notes == []
