"""Labels on checkpoints."""

from __future__ import annotations

from takeback.context import Context
from takeback.model.checkpoint import Checkpoint
from takeback.store.namespace import LABELS, label_ref
from takeback.store.records import Label, read_labels, remove_label, write_label
from takeback.store.sink import PackSink
from tests.support.engine import NOON, checkpoint, under_lock


def put(context: Context, made: Checkpoint, name: str, agent: str | None = None) -> None:
    label = Label(name, agent)
    under_lock(context, lambda it: write_label(PackSink(it.lock), made, label, NOON))


def test_a_label_is_set_replaced_and_taken_off(context: Context) -> None:
    one, two = checkpoint(context), checkpoint(context)
    for made, name in ((one, "first"), (two, "zwölf\nMonkeys"), (one, "renamed")):
        put(context, made, name)
    assert read_labels(context.store) == {one.id: Label("renamed"), two.id: Label("zwölf\nMonkeys")}
    assert under_lock(context, lambda it: remove_label(PackSink(it.lock), one, NOON))
    assert not under_lock(context, lambda it: remove_label(PackSink(it.lock), one, NOON))
    assert read_labels(context.store) == {two.id: Label("zwölf\nMonkeys")}


def test_whose_model_gave_a_label_is_kept_until_another_is_given(context: Context) -> None:
    made = checkpoint(context)
    put(context, made, "done", "claude")
    assert read_labels(context.store) == {made.id: Label("done", "claude")}
    put(context, made, "done")
    assert read_labels(context.store) == {made.id: Label("done")}


def test_a_label_keeps_its_checkpoint_reachable_by_itself(context: Context) -> None:
    made = checkpoint(context)
    put(context, made, "pinned")
    [(ref, tip)] = context.store.refs.list(LABELS).items()
    assert ref == label_ref(context.store.machine or "", made.id)
    assert context.store.commit(tip).parents == (made.commit,)
