"""What is deleted when a knowledge base changes: rows that no version needs.

They are not needed for right answers: what is deleted too early is added again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from filelock import FileLock

from chatbot_mvp.retrieval.indexes.chroma import ChromaVectors, collections_of
from chatbot_mvp.retrieval.indexes.chroma_connection import ChromaClient, chroma_client, reported
from chatbot_mvp.retrieval.indexes.chroma_rows import drop, rebuilt, seen
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.indexes.engines import indexes_of
from chatbot_mvp.settings.model import Settings


def keep_rows(settings: Settings, kb_id: str, kept: Iterable[CorpusIndex]) -> None:
    """Delete from ChromaDB and from the engine of INDEX_ENGINE what no index in ``kept`` searches.

    To be called after a new version has taken the place of another, and after a version was deleted. Searches go on
    meanwhile, also in other processes. A version that is not in ``kept`` can be opened again: its rows are then added.

    Args:
        kept: the last index that ``growing_index`` gave of each version and strategy that this process still searches.

    Raises:
        MissingPackage, InvalidSetting, ConfigurationError (vector_store_unavailable): ChromaDB cannot be used.
        ConfigurationError: the engine of INDEX_ENGINE cannot be used. Some rows may be left; the call is made again.
    """
    indexes = list(kept)
    sides = [index.dense for index in indexes if index.dense is not None]
    stores = [store for side in sides for store in (side.vectors, side.windows, side.sentences)]
    if settings.chroma_host or settings.chroma_dir.is_dir():
        client = chroma_client(settings.chroma_dir, settings.chroma_host)
        keep_vectors(client, kb_id, [store for store in stores if isinstance(store, ChromaVectors)])
    indexes_of(settings).keep(kb_id, [index.lexical for index in indexes], [side.vectors for side in sides])


def keep_vectors(client: ChromaClient, owner: str, kept: Sequence[ChromaVectors]) -> int:
    """Delete all rows of ``owner`` that none of ``kept`` has, and return their number.

    Searches in ``kept`` go on meanwhile. Another process that still searches other rows adds them again if it has them
    in memory, and else says that they are gone. A collection of which more was deleted than is left is built anew,
    because its searches take longer with each deletion.

    Raises:
        ConfigurationError (vector_store_unavailable): some rows may be left; the call is made again.
    """
    removed = 0
    with FileLock(client.lock_path), reported(client.place):
        for name in collections_of(client, owner):
            rows = seen(client.api, name)
            wanted = {id_ for store in kept if store.name == name for id_ in store.ids.distinct}
            present = rows.ids() if rows is not None else []
            gone = [id_ for id_ in present if id_ not in wanted]
            if len(gone) == len(present):
                drop(client.api, name)
            elif gone and rows is not None:
                rows = rows.delete(gone)
                if rows.deleted > len(wanted):
                    rebuilt(client.api, name, owner, rows)
            removed += len(gone)
    return removed
