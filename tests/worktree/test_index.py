"""Names read out of index files that real git wrote, compared with ``git ls-files``."""

from __future__ import annotations

from pathlib import Path

import pytest

from takeback.worktree.project import IndexUnreadable, tracked_names
from tests.support.git import git

EMPTY_BLOB = b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


class Repository:
    """A real repository, and our reading of its index."""

    def __init__(self, root: Path, *options: str) -> None:
        self.root = root
        root.mkdir()
        self.git("init", "-q", *options)

    def git(self, *args: str, stdin: bytes = b"") -> bytes:
        return git(self.root, *args, stdin=stdin)

    def add(self, *names: str) -> None:
        for name in names:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(name)
        self.git("--literal-pathspecs", "add", "--", *names)

    def commit(self) -> None:
        self.git("commit", "-q", "-m", "x")

    def width(self) -> int:
        return len(self.git("hash-object", "--stdin").strip()) // 2

    def index(self) -> bytes:
        return (self.root / ".git" / "index").read_bytes()

    def shared(self, name: bytes) -> bytes | None:
        path = self.root / ".git" / f"sharedindex.{name.decode()}"
        return path.read_bytes() if path.exists() else None

    def names(self) -> list[bytes]:
        return tracked_names(self.index(), self.shared)

    def listed(self) -> list[bytes]:
        return sorted(set(self.git("ls-files", "-z").split(b"\0")[:-1]))


NAMES = ("a.b", "a/b", "a/b c", "dir/deep/er/file", "ü", "z" * 200, "new\nline", "-x", ":y")


@pytest.fixture(params=["sha1", "sha256"])
def repository(request: pytest.FixtureRequest, tmp_path: Path) -> Repository:
    return Repository(tmp_path / "r", f"--object-format={request.param}")


def with_names(repository: Repository) -> None:
    repository.add(*NAMES)


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_every_version_and_both_hashes_give_the_names_that_git_lists(
    repository: Repository, version: str
) -> None:
    with_names(repository)
    repository.git("update-index", "--index-version", version)
    if version != "2":  # git writes 3 only where an entry needs the extended flags
        repository.git("update-index", "--skip-worktree", "a/b", "z" * 200)
    assert repository.index()[7] == int(version)
    assert repository.names() == repository.listed()
    assert len(repository.names()) == len(NAMES)


def test_intent_to_add_is_tracked(repository: Repository) -> None:
    with_names(repository)
    (repository.root / "later").write_text("x")
    repository.git("add", "-N", "later")
    assert repository.index()[7] == 3
    assert b"later" in repository.names()
    assert repository.names() == repository.listed()


def test_an_assumed_unchanged_file_is_tracked(repository: Repository) -> None:
    with_names(repository)
    repository.git("update-index", "--assume-unchanged", "a/b")
    assert repository.names() == repository.listed()


@pytest.mark.parametrize("version", ["2", "4"])
def test_the_stages_of_a_conflict_are_one_name(repository: Repository, version: str) -> None:
    repository.add("f", "g")
    repository.commit()
    repository.git("checkout", "-q", "-b", "side")
    (repository.root / "f").write_text("side")
    repository.git("commit", "-qam", "side")
    repository.git("checkout", "-q", "-")
    (repository.root / "f").write_text("main")
    repository.git("commit", "-qam", "main")
    with pytest.raises(AssertionError):
        repository.git("merge", "side")
    repository.git("update-index", "--index-version", version)
    assert repository.git("ls-files", "-u")
    assert repository.names() == [b"f", b"g"]


@pytest.mark.parametrize("version", ["2", "4"])
@pytest.mark.parametrize("length", [254, 4094, 4095, 4096, 9000])
def test_names_of_any_length(repository: Repository, version: str, length: int) -> None:
    name = (b"d/" * 5000)[: length - 1] + b"x"
    repository.git("update-index", "--index-version", version)
    blob = repository.git("hash-object", "-w", "--stdin").strip()
    lines = b"".join(b"100644 %s\t%s\0" % (blob, n) for n in (b"a", name, b"z"))
    repository.git("update-index", "-z", "--index-info", stdin=lines)
    assert repository.names() == [b"a", name, b"z"] == repository.listed()


@pytest.mark.parametrize("version", ["2", "4"])
def test_a_split_index_is_the_union_of_both_halves(repository: Repository, version: str) -> None:
    with_names(repository)
    repository.git("update-index", "--index-version", version)
    repository.git("-c", "splitIndex.maxPercentChange=100", "update-index", "--split-index")
    (repository.root / "a/b").write_text("replaced")
    repository.add("new")
    repository.git("add", "a/b")
    assert repository.names() == repository.listed()
    repository.git("rm", "-q", "--cached", "ü")  # the bitmap that says so is not read
    assert repository.names() == sorted([*repository.listed(), "ü".encode()])


def test_a_split_index_without_its_other_half_is_unreadable(repository: Repository) -> None:
    with_names(repository)
    repository.git("update-index", "--split-index")
    with pytest.raises(IndexUnreadable):
        tracked_names(repository.index())
    with pytest.raises(IndexUnreadable):
        tracked_names(repository.index(), lambda name: None)
    with pytest.raises(IndexUnreadable):
        tracked_names(repository.index(), lambda name: repository.index())


@pytest.mark.parametrize("version", ["2", "4"])
def test_the_directories_of_a_sparse_index_are_no_names(tmp_path: Path, version: str) -> None:
    repository = Repository(tmp_path / "r")
    repository.add("top", "in/file", "out/one", "out/deep/two", "zz")
    repository.commit()
    repository.git("update-index", "--index-version", version)
    repository.git("sparse-checkout", "set", "--cone", "--sparse-index", "in")
    assert b"sdir" in repository.index()
    assert repository.git("ls-files", "-z", "--sparse").count(b"out/") == 1
    assert repository.names() == [b"in/file", b"top", b"zz"]


def test_extensions_are_stepped_over(repository: Repository) -> None:
    with_names(repository)
    repository.commit()  # writes TREE
    assert b"TREE" in repository.index()
    repository.git("-c", "index.threads=2", "update-index", "--force-write-index")
    assert repository.names() == repository.listed()


def test_a_trailer_of_zeros_is_accepted(repository: Repository) -> None:
    with_names(repository)
    index = repository.index()
    width = repository.width()
    assert tracked_names(index[:-width] + bytes(width)) == repository.listed()


def test_skip_hash_of_git_2_40_and_later(repository: Repository) -> None:
    repository.git("config", "index.skipHash", "true")  # an older git does not mind
    with_names(repository)
    assert repository.names() == repository.listed()


def test_an_index_without_entries_has_no_names(repository: Repository) -> None:
    repository.git("read-tree", "--empty")
    assert repository.names() == []


@pytest.mark.parametrize("version", ["2", "4"])
def test_a_cut_index_never_gives_some_of_the_names(repository: Repository, version: str) -> None:
    repository.add("one", "two/three", "x" * 200)
    repository.git("update-index", "--index-version", version)
    repository.git("write-tree")
    index = repository.index()
    names = repository.listed()
    unreadable = 0
    for length in range(len(index)):
        try:
            assert tracked_names(index[:length]) == names
        except IndexUnreadable:
            unreadable += 1
    # One cut leaves as many bytes after the entries as a trailer has: nothing is missing then.
    assert unreadable >= len(index) - 1


@pytest.mark.parametrize("version", ["2", "4"])
def test_a_flipped_byte_raises_nothing_but_unreadable(repository: Repository, version: str) -> None:
    repository.add("one", "two/three", "x" * 200)
    repository.git("update-index", "--index-version", version)
    index = repository.index()
    for position in range(len(index)):
        for value in (0, 0x7F, 0x80, 0xFF):
            damaged = bytearray(index)
            damaged[position] = value
            try:
                names = tracked_names(bytes(damaged), lambda name: None)
            except IndexUnreadable:
                continue
            assert not any(b"\0" in name for name in names)


def test_what_is_no_index_is_unreadable() -> None:
    for data in (b"", b"DIRC", b"x" * 1000, b"DIRC\0\0\0\5\0\0\0\0" + bytes(20)):
        with pytest.raises(IndexUnreadable):
            tracked_names(data)


def test_an_unknown_extension_that_must_be_understood_is_unreadable(
    repository: Repository,
) -> None:
    repository.add("one")
    index = repository.index()
    width = repository.width()
    assert tracked_names(index[:-width] + b"XXXX\0\0\0\0" + bytes(width)) == [b"one"]
    with pytest.raises(IndexUnreadable):
        tracked_names(index[:-width] + b"xxxx\0\0\0\0" + bytes(width))


def test_names_that_lead_outside_are_left_out(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "r")
    good = [b"aa/aa/ok", b"aaaa.git", b"bb/....", b"cc/.gita"]
    for bad in (b"../../ok", b"/etc/abc", b"aa/./bcd", b"aa//bcde", b"a/.git/b", b".git/abc"):
        for name in [*good, b"x" * len(bad)]:
            line = b"100644 %s\t%s\0" % (EMPTY_BLOB, name)
            repository.git("update-index", "-z", "--add", "--index-info", stdin=line)
        assert tracked_names(repository.index().replace(b"x" * len(bad), bad)) == good
