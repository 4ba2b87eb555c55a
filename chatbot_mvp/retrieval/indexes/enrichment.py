"""Contextual enrichment: what a language model says about a chunk's place is indexed with it.

After "Introducing Contextual Retrieval" (Anthropic, 2024). What is found and shown is the original chunk.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from chatbot_mvp.llm.language_model import LanguageModel
from chatbot_mvp.retrieval.prompting import PROMPTS
from chatbot_mvp.storage.sqlite_cache import SqliteCache
from chatbot_mvp.types import Chunk, Progress, ProgressCallback, ignore_progress

PHASE = "enrich"
DOCUMENT_CHARS = 12_000
"""A longer document is shown to the model as the part of this length around the chunk."""
CONTEXT_CHARS = 600
"""A longer reply is cut unless RETRIEVAL_CONTEXT_MAX_TOKENS says otherwise: it must not outweigh the chunk."""
CHARS_PER_TOKEN = 4

CALLS_AT_ONCE = 8


class ContextCache:
    """One SQLite file: a model's reply to a prompt, kept for good. Safe for several threads and processes."""

    def __init__(self, path: Path) -> None:
        columns = "(key BLOB PRIMARY KEY, context TEXT NOT NULL) WITHOUT ROWID"
        self._cache: SqliteCache[str] = SqliteCache(path, "contexts", columns)
        self._cache.open()

    def contexts(
        self,
        model: LanguageModel,
        prompt_texts: Sequence[str],
        batch_size: int,
        progress: ProgressCallback = ignore_progress,
        max_chars: int = CONTEXT_CHARS,
    ) -> list[str]:
        """The model's reply to each prompt on one line, cut at ``max_chars``; only what is not cached is asked.

        Args:
            batch_size: prompts between two commits, asked at the same time (up to 8).
            progress: told of the phase "enrich" after every batch; may raise to stop, then what came is kept.

        Raises:
            ChatbotError, OSError: the model gave no reply; the replies of its batch so far are kept.
            CacheUnusable: the file cannot be read or written.
        """
        started = time.monotonic()
        keys = [_key(model.name, prompt, max_chars) for prompt in prompt_texts]
        known = self._known(keys)
        waiting = {key: prompt for key, prompt in zip(keys, prompt_texts, strict=True) if key not in known}
        cached, total = len(known), len(known) + len(waiting)
        progress(Progress(PHASE, cached, total, 0.0, cached))
        order = list(waiting.items())
        for begin in range(0, len(order), batch_size):
            known |= self._asked(model, order[begin : begin + batch_size], max_chars)
            progress(Progress(PHASE, len(known), total, time.monotonic() - started, cached))
        return [known[key] for key in keys]

    def missing(self, model_name: str, prompt_texts: Sequence[str], max_chars: int = CONTEXT_CHARS) -> list[str]:
        """The prompts, each once, that have no reply yet."""
        keys = {_key(model_name, prompt, max_chars): prompt for prompt in prompt_texts}
        known = self._known(keys)
        return [prompt for key, prompt in keys.items() if key not in known]

    def _known(self, keys: Iterable[bytes]) -> dict[bytes, str]:
        return {key: context for rows in self._cache.read(keys) for key, context in rows}

    def _asked(self, model: LanguageModel, batch: Sequence[tuple[bytes, str]], max_chars: int) -> dict[bytes, str]:
        """Ask for a batch and commit what came, also when one of its calls failed."""
        fresh: dict[bytes, str] = {}
        try:
            with ThreadPoolExecutor(min(CALLS_AT_ONCE, len(batch))) as pool:
                pending = [(key, pool.submit(model.ask, prompt)) for key, prompt in batch]
                failure: BaseException | None = None
                for key, future in pending:
                    # Every call of the batch was made: keep each reply before the first failure is told.
                    if (error := future.exception()) is None:
                        fresh[key] = tidy_context(future.result(), max_chars)
                    else:
                        failure = failure or error
                if failure is not None:
                    raise failure
        finally:
            # An empty reply may be better the next time.
            self._cache.write({key: context for key, context in fresh.items() if context})
        return fresh


def tidy_context(reply: str, max_chars: int = CONTEXT_CHARS) -> str:
    """A reply on one line, cut between words to at most ``max_chars``."""
    # Half a surrogate pair has no form on disk.
    line = " ".join(reply.encode("utf-8", "replace").decode().split())
    if len(line) <= max_chars:
        return line
    return line[:max_chars].rsplit(" ", 1)[0]


def enrich(
    chunks: Sequence[Chunk],
    language: str,
    model: LanguageModel,
    cache: ContextCache,
    batch_size: int,
    progress: ProgressCallback = ignore_progress,
    max_tokens: int = CONTEXT_CHARS // CHARS_PER_TOKEN,
) -> list[Chunk]:
    """Row for row the chunks to index: the model's context stands before the text.

    Their offsets are those of the original chunks, which remain what a search returns.
    """
    texts = list(enrichment_prompts(chunks, language))
    contexts = cache.contexts(model, texts, batch_size, progress, CHARS_PER_TOKEN * max_tokens)
    return [
        replace(chunk, text=f"{context}\n{chunk.text}") if context else chunk
        for chunk, context in zip(chunks, contexts, strict=True)
    ]


def enrichment_prompts(chunks: Sequence[Chunk], language: str) -> Iterator[str]:
    """One prompt per chunk, in order: with its document where that has several chunks, else with its title."""
    templates = PROMPTS.texts(language)
    for _, group in groupby(chunks, key=lambda chunk: chunk.doc_id):
        parts = list(group)
        source = _source(parts) if len(parts) > 1 else None
        for chunk in parts:
            if source is None:
                yield templates["context_from_title"].format(section=chunk.section, chunk=chunk.text)
            else:
                shown = _around(source, chunk)
                yield templates["context_in_document"].format(document=shown, section=chunk.section, chunk=chunk.text)


def missing_prompts(
    chunks: Sequence[Chunk],
    language: str,
    model_name: str,
    path: Path,
    max_tokens: int = CONTEXT_CHARS // CHARS_PER_TOKEN,
) -> list[str]:
    """What ``enrich`` would ask with its cache at ``path``, each prompt once; nothing is written."""
    texts = list(enrichment_prompts(chunks, language))
    if not path.is_file():
        return list(dict.fromkeys(texts))
    return ContextCache(path).missing(model_name, texts, CHARS_PER_TOKEN * max_tokens)


def _source(chunks: Sequence[Chunk]) -> str:
    """The document as far as its chunks show it, every character at its own offset; between chunks, blank space."""
    text, at = [], 0
    for chunk in sorted(chunks, key=lambda chunk: chunk.start):
        gap = chunk.start - at
        if gap > 0:
            text.append("\n" * gap)
            at = chunk.start
        text.append(chunk.text[at - chunk.start :])
        at = max(at, chunk.end)
    return "".join(text)


def _around(source: str, chunk: Chunk) -> str:
    middle = (chunk.start + chunk.end) // 2
    begin = max(0, min(middle - DOCUMENT_CHARS // 2, len(source) - DOCUMENT_CHARS))
    return source[begin : begin + DOCUMENT_CHARS].strip()


def _key(model: str, prompt: str, max_chars: int) -> bytes:
    cut = "" if max_chars == CONTEXT_CHARS else f"\x00{max_chars}"
    return hashlib.sha256(f"{model}\x00{prompt}{cut}".encode("utf-8", "surrogatepass")).digest()
