"""What a version of a knowledge base takes from the one before, and what goes with versions that nobody needs."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from filelock import FileLock

from chatbot_mvp.retrieval.indexes.array_bm25 import ArrayIndex
from chatbot_mvp.retrieval.indexes.lexical import LexicalSearch
from chatbot_mvp.retrieval.kb.vocabulary import KbIndex
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk, ProgressCallback


def words_in_memory(
    sources: Sequence[Chunk],
    analyzer: Analyzer,
    kb: KbIndex | None,
    earlier: tuple[KbIndex | None, LexicalSearch] | None,
    progress: ProgressCallback,
) -> ArrayIndex:
    """Index the words of a knowledge base.

    Args:
        sources: what is indexed of each of its chunks.
        earlier: another version, whose chunks are not read again if ``kb`` has them.
        progress: called in the phase "index"; may raise to stop.
    """
    then, words = earlier if earlier is not None else (None, None)
    if kb is None or then is None or kb.files is None or then.files is None:
        return ArrayIndex.in_memory(sources, analyzer, progress)
    # Of a corpus, other texts are indexed than of long documents.
    if not isinstance(words, ArrayIndex) or not words.changeable or kb.is_corpus != then.is_corpus:
        return ArrayIndex.in_memory(sources, analyzer, progress)
    return words.changed(sources, analyzer, kb.files.chunk_rows(then.files), then.otherwise, progress)


def forget_other_indexes(cache_dir: Path, owner: str, kept: Iterable[Path | None]) -> None:
    """Delete the files of a knowledge base's indexes that belong to other versions than those that are kept.

    Only links are in files with INDEX_ENGINE=local, and only those of knowledge bases of short documents.

    Args:
        kept: ``CorpusIndex.folder`` of each version that is kept.
    """
    folder = cache_dir / "indexes" / owner
    if not owner or not folder.is_dir():
        return
    names = {path.name for path in kept if path is not None}
    for path in sorted(folder.iterdir()):
        if path.is_dir() and path.name not in names:
            with FileLock(f"{path}.lock"):
                shutil.rmtree(path, ignore_errors=True)
            Path(f"{path}.lock").unlink(missing_ok=True)
