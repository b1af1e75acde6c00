"""How many bytes of a store some checkpoints' files take."""

from __future__ import annotations

import shutil
from pathlib import Path

from takeback.app.engine import Engine
from takeback.store.weight import Scales


def test_what_is_shared_counts_once_and_a_tree_is_read_once(workspace: Path) -> None:
    """A sweep weighs all that is kept a dozen times, to find out how much has to go."""
    (workspace / "sub").mkdir()
    (workspace / "sub" / "both").write_bytes(bytes(range(256)) * 100)
    with Engine.open(workspace) as tb:
        first = bytes.fromhex(tb.checkpoint().checkpoint.snapshot)
        (workspace / "second").write_bytes(bytes(range(255, -1, -1)) * 100)
        second = bytes.fromhex(tb.checkpoint().checkpoint.snapshot)
        store = tb._context.store
        scales = Scales(store)
        weights = [scales.weigh(roots) for roots in ([first], [second], [first, second])]
        assert weights[0] < weights[1] < weights[2] < weights[0] + weights[1]
        shutil.rmtree(Path(store.git_dir, "objects", "pack"))
        store.reopen_packs()
        store._trees.clear()
        assert weights == [scales.weigh(roots) for roots in ([first], [second], [first, second])]
