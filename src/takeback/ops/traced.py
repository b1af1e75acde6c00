"""Traced: where a secret is in a store, and what it consists of."""

from __future__ import annotations

import os

from takeback.model.needles import LARGEST, LEAST, Needles
from takeback.model.path_text import to_bytes
from takeback.model.secret import NOTHING, Secret
from takeback.model.session import TranscriptPart
from takeback.model.value import Value
from takeback.ops.transcript import read_now
from takeback.store.checkpoints import checkpoint_of
from takeback.store.namespace import SESSIONS
from takeback.store.records import read_record
from takeback.store.traces import Traces, all_records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from takeback.store.records import Record
    from takeback.store.store import Store


class Traced(Value):
    """Where a secret is in one store.

    ``others`` has the paths of each other content of its snapshots, ``copies`` the paths at which
    the same content lies, ``transcripts`` the agents' own files that quote it.
    """

    secret: Secret
    outside: frozenset[bytes]
    versions: int
    checkpoints: int
    others: Mapping[bytes, list[bytes]]
    copies: tuple[bytes, ...]
    transcripts: tuple[TranscriptPart, ...]


def trace(store: Store, wanted: Callable[[bytes, bytes], bool], known: Secret = NOTHING) -> Traced:
    """Looks for paths and contents in all that is kept, and reads what they hold.

    What is ``known`` of the secret from another store is looked for as well.
    """
    records = all_records(store)
    traces = Traces(store, records, wanted)
    ids = {oid for at in (*traces.versions.values(), *traces.outside.values()) for oid in at}
    contents = {oid: store.blob(oid) for oid in sorted(ids) if store.packs.size_of(oid) <= LARGEST}
    telling = {oid for oid in ids if oid not in contents or len(contents[oid].strip()) >= LEAST}
    names = _names(store, records, traces)
    needles = Needles.of(contents.values(), names) | known.needles.besides(names)
    return Traced(
        Secret(frozenset(traces.versions), known.contents | telling, needles),
        frozenset(traces.outside),
        len(ids),
        traces.checkpoints,
        {oid: paths for oid, paths in traces.others.items() if oid not in telling},
        tuple(sorted({path for oid in telling for path in traces.others.get(oid, ())})),
        tuple(_quoting_transcripts(store, needles)),
    )


def _names(store: Store, records: Iterable[Record], traces: Traces) -> bytes:
    """Returns the names of all files and directories that records and snapshots have."""
    found = {store.location.root, *store.location.also, os.fsencode(store.location.home)}
    found.update(traces.versions, traces.outside, *traces.others.values())
    for record in records:
        told = [record.meta.get(field) for field in ("directory", "branch", "resume", "transcript")]
        found.update(to_bytes(text) for text in _texts(told))
    return b"\0".join(sorted(found))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


def trace_elsewhere(store: Store, secret: Secret) -> Traced:
    """Looks for a secret of another store: where one of its contents was, all versions go."""
    paths = frozenset[bytes]()
    if any(store.packs.has(oid) for oid in secret.contents):
        records = all_records(store)
        paths = frozenset(Traces(store, records, lambda _, oid: oid in secret.contents).versions)
    return trace(store, lambda path, oid: path in paths or oid in secret.contents, secret)


def newest_records(store: Store) -> Iterator[Record]:
    for tip in store.refs.list(SESSIONS).values():
        yield read_record(store, tip)


def _quoting_transcripts(store: Store, needles: Needles) -> Iterator[TranscriptPart]:
    """Yields the agents' own transcripts that are there and quote it: they are not ours."""
    told = (checkpoint_of(record).transcript for record in newest_records(store))
    places = {(part.path, part.place) for parts in told for part in parts if part.place}
    for path, place in sorted(places):
        part = TranscriptPart(path, 0, place)
        data = read_now(part)
        if data is not None and needles.are_in(data):
            yield part
