"""What a purge removes, what it proved, and what it cannot reach, as lines of text."""

from __future__ import annotations

from takeback.model.path_text import to_text
from takeback.visible import shown
from takeback.words.documents import path_fields, path_list
from takeback.words.text import count, more_files, quoted, shown_file, shown_path, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from takeback.purge.purge import PurgedStore, Purging
    from takeback.words.documents import Document

FOR_GOOD = "It cannot be undone, and no later capture brings it back."
_NAMED = 10
_BEYOND = (
    "the project's own git history, if it was ever committed",
    "copies of the store: remotes, other machines, backups",
    "what editors and other programs keep",
)


def outlook_lines(made: Purging) -> Iterator[str]:
    """Yields what a purge would remove; nothing of the secret itself."""
    for number, store in enumerate(made.stores):
        went = f"{_what(store)} would go for good" if store.has_it else "nothing of it would go"
        yield f"{_where(store, number)}{went}."
        yield from _details(store, "would be blanked", "would go, too")
    yield from _rest(made)


def done_lines(made: Purging) -> Iterator[str]:
    """Yields what was removed, and what was searched to prove it."""
    for number, store in enumerate(made.stores):
        went = f"Purged {_what(store)}" if store.has_it else "nothing of it to purge"
        yield f"{_where(store, number)}{went}."
        yield from _details(store, "blanked", "went, too")
        for name in store.removed:
            yield f"  removed, because it quoted it: {shown(name)}"
        yield f"  searched {count(store.objects, 'object')}, {size(store.size)}: {_found(store)}"
        for name in store.found[:_NAMED]:
            yield f"  still there: {shown(name)}"
    yield from _rest(made)
    yield FOR_GOOD


def _where(store: PurgedStore, number: int) -> str:
    return "" if number == 0 else f"In the store of {shown_path(store.root)}: "


def _what(store: PurgedStore) -> str:
    if not store.paths:
        return "what quotes it"
    versions = count(store.versions, "version")
    return f"{_names(store.paths)} ({versions}, in {count(store.checkpoints, 'checkpoint')})"


def _found(store: PurgedStore) -> str:
    if not store.found:
        return "nothing found"
    return f"it is still in {count(store.found, 'place')}"


def _details(store: PurgedStore, blanked: str, went: str) -> Iterator[str]:
    if store.copies:
        yield f"  the same content at {_names(store.copies)}: {went}"
    if store.quotes:
        quotes = count(store.quotes, "quote")
        yield f"  {quotes} in conversations, prompts, labels and records: {blanked}"
    if store.also_in:
        words = " ".join(quoted(to_text(path)) for path in store.also_in[:_NAMED])
        yield f"  a line or a value of it is also in {_names(store.also_in)}, left as it is;"
        yield f"  to purge that, too: takeback purge {words}"


def _rest(made: Purging) -> Iterator[str]:
    if made.again:
        yield "It was purged here before: what its file has now, and what other stores have at its"
        yield "path, was looked for."
    if made.cut:
        yield "It has more lines than are looked for: some quotes of it may remain."
    if made.without:
        stores = count(made.without, "other store")
        yield f"Looked through {stores} as well: nothing of it is there."
    for one in made.unread:
        yield f"Not looked into, and it may be there: {shown(one.directory)}: {shown(one.why)}"
    if made.unread:
        yield "Purge it again once that is mended, while its file still says what to look for."
    yield "Out of reach, and yours to deal with:"
    for path in dict.fromkeys(path for store in made.stores for path in store.transcripts):
        yield f"  the agent's own transcript {shown(path)}"
    yield from (f"  {line}" for line in _BEYOND)


def _names(paths: Sequence[bytes]) -> str:
    return ", ".join(map(shown_file, paths[:_NAMED])) + more_files(paths[_NAMED:])


def document(made: Purging) -> Document:
    """Returns a purge, or the outlook of one, for programs."""
    return {
        "done": made.done,
        "proved": made.done and made.is_sure,
        "cut": made.cut,
        "unread": [one.directory for one in made.unread],
        "reasons": [one.why for one in made.unread],
        "without": made.without,
        "again": made.again,
        "stores": [
            {
                **path_fields(store.root, "workspace"),
                "paths": path_list(store.paths),
                "copies": path_list(store.copies),
                "versions": store.versions,
                "checkpoints": store.checkpoints,
                "quotes": store.quotes,
                "also_in": path_list(store.also_in),
                "removed": list(store.removed),
                "objects": store.objects,
                "bytes": store.size,
                "found": list(store.found),
                "transcripts": list(store.transcripts),
            }
            for store in made.stores
        ],
    }
