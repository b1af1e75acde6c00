"""Labels on checkpoints."""

from __future__ import annotations

from takeback.ops.context import Context
from takeback.store.labels import read_labels, remove_label, write_label
from takeback.store.namespace import LABELS, label_ref
from takeback.store.sink import PackSink
from tests.support.engine import NOON, checkpoint


def test_a_label_is_set_replaced_and_taken_off(context: Context) -> None:
    one, two = checkpoint(context), checkpoint(context)
    for made, name in ((one, "first"), (two, "zwölf\nMonkeys"), (one, "renamed")):
        write_label(context.store, PackSink(context.store), made, name, NOON)
    assert read_labels(context.store) == {one.id: "renamed", two.id: "zwölf\nMonkeys"}
    assert remove_label(context.store, one.id)
    assert not remove_label(context.store, one.id)
    assert read_labels(context.store) == {two.id: "zwölf\nMonkeys"}


def test_a_label_keeps_its_checkpoint_reachable_by_itself(context: Context) -> None:
    made = checkpoint(context)
    write_label(context.store, PackSink(context.store), made, "pinned", NOON)
    [(ref, tip)] = context.store.refs.list(LABELS).items()
    assert ref == label_ref(made.id)
    assert context.store.commit(tip).parents == (made.commit,)
