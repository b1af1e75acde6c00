"""Every object and every file is searched, however it is stored and wherever the text lies."""

from __future__ import annotations

from pathlib import Path

from takeback.context import Context
from takeback.git.objects import BLOB, object_id
from takeback.model.secret import Needles
from takeback.store.proof import Search
from tests.support.engine import garble, packing
from tests.support.git import git

TEXT = b"hunter2-hunter2"
PIECE = 1 << 20


def test_an_object_that_is_read_in_pieces_is_searched_across_them(context: Context) -> None:
    across = b"x" * (PIECE - 7) + TEXT + b"y" * PIECE
    clean = b"x" * (PIECE - 7) + TEXT[:-1] + b"y" * PIECE
    escaped = b"x" * (PIECE - 7) + rb"\\\u0068unter2-hunter\\u0032" + b"y" * PIECE
    with packing(context) as sink:
        ids = [sink.add(BLOB, data) for data in (across, clean, TEXT, escaped)]
        sink.publish()
    found = Search(context.store, Needles([TEXT])).run()
    assert found.objects == {ids[0], ids[2], ids[3]}
    assert found.count == 4
    assert found.size > 2 * PIECE


def test_a_loose_object_and_any_file_are_searched(context: Context, tmp_path: Path) -> None:
    store = context.store
    (tmp_path / "loose").write_bytes(TEXT)
    git(Path(store.git_dir), "hash-object", "-w", str(tmp_path / "loose"))
    Path(store.path("left-behind")).write_bytes(b"." + TEXT)
    Path(store.git_dir, "FETCH_HEAD").write_bytes(TEXT)
    Path(store.location.home, "log").write_bytes(TEXT)
    found = Search(store, Needles([TEXT])).run()
    assert found.objects == {object_id(BLOB, TEXT)}
    assert {Path(name).name for name in found.files} == {"left-behind", "FETCH_HEAD", "log"}


def test_an_object_that_does_not_read_is_named_and_not_vouched_for(context: Context) -> None:
    with packing(context) as sink:
        oid = sink.add(BLOB, TEXT * 100)
        sink.publish()
    garble(context.store, oid)
    context.store.reopen_packs()
    assert Search(context.store, Needles([TEXT])).run().unread == (oid.hex(),)
