"""How many bytes objects take in packs."""

from __future__ import annotations

from pathlib import Path

from takeback.git.objects import BLOB, object_id
from takeback.git.pack import PackWriter
from takeback.store.weight import stored_sizes


def test_sizes_add_up_to_the_packs_and_of_two_copies_the_smaller_counts(tmp_path: Path) -> None:
    contents = [b"small", b"x" * 10_000, bytes(range(256)) * 40]
    for _ in range(2):
        writer = PackWriter(str(tmp_path))
        for data in contents:
            writer.add(BLOB, data)
        writer.finish()
        contents.append(b"only in the second")
    sizes = stored_sizes(str(tmp_path))
    assert set(sizes) == {object_id(BLOB, data) for data in contents[:4]}
    largest = max(pack.stat().st_size for pack in tmp_path.glob("*.pack"))
    assert sum(sizes.values()) == largest - 12 - 20


def test_a_pack_that_does_not_read_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "pack-1.idx").write_bytes(b"no index")
    assert stored_sizes(str(tmp_path)) == {}
