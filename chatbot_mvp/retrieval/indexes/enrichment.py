"""Contextual enrichment: a language model describes each chunk's place in its document, and both are indexed together.

After "Introducing Contextual Retrieval" (Anthropic, 2024). Searches still return the original chunks.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path

from chatbot_mvp.llm.language_model import LanguageModel
from chatbot_mvp.retrieval.prompting import filled
from chatbot_mvp.storage.sqlite_cache import SqliteCache
from chatbot_mvp.types import Chunk, Progress, ProgressCallback, ignore_progress

PHASE = "enrich"
DOCUMENT_CHARS = 12_000
"""Of longer documents, the prompt contains only this many characters around the chunk."""
CONTEXT_CHARS = 600
"""Default limit of a reply in characters (RETRIEVAL_CONTEXT_MAX_TOKENS changes it). A context must not outweigh its
chunk."""
CHARS_PER_TOKEN = 4

CALLS_AT_ONCE = 8


class ContextCache:
    """Caches a model's replies by prompt in one SQLite file, without expiry. Safe for several threads and processes."""

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
        """Return the model's reply to each prompt, as one line of at most ``max_chars``, as ``replies`` does."""
        tidy = partial(tidy_context, max_chars=max_chars)
        return self.replies(model, prompt_texts, batch_size, tidy, PHASE, progress, max_chars)

    def replies(
        self,
        model: LanguageModel,
        prompt_texts: Sequence[str],
        batch_size: int,
        tidy: Callable[[str], str],
        phase: str,
        progress: ProgressCallback = ignore_progress,
        max_chars: int = CONTEXT_CHARS,
    ) -> list[str]:
        """Return the model's reply to each prompt in the form of ``tidy``. Only new prompts are sent.

        Args:
            batch_size: prompts per commit; up to 8 are sent at the same time.
            tidy: gives the text to cache; "" for an unusable reply, which is not cached and is asked for again by the
                next call.
            phase: phase of the progress.
            progress: called after every batch; may raise to stop, finished batches stay cached. Unusable replies count
                as failed.
            max_chars: part of the cache's key.

        Raises:
            ChatbotError, OSError: the model gave no reply; the other replies of the batch stay cached.
            CacheUnusable: the file cannot be read or written.
        """
        started = time.monotonic()
        keys = [_key(model.name, prompt, max_chars) for prompt in prompt_texts]
        known = self._known(keys)
        waiting = {key: prompt for key, prompt in zip(keys, prompt_texts, strict=True) if key not in known}
        cached, total, unusable = len(known), len(known) + len(waiting), 0
        progress(Progress(phase, cached, total, 0.0, cached))
        order = list(waiting.items())
        for begin in range(0, len(order), batch_size):
            fresh = self._asked(model, order[begin : begin + batch_size], tidy)
            known |= fresh
            unusable += sum(not text for text in fresh.values())
            progress(Progress(phase, len(known), total, time.monotonic() - started, cached, unusable))
        return [known[key] for key in keys]

    def missing(self, model_name: str, prompt_texts: Sequence[str], max_chars: int = CONTEXT_CHARS) -> list[str]:
        """Return the distinct prompts that have no cached reply."""
        keys = {_key(model_name, prompt, max_chars): prompt for prompt in prompt_texts}
        known = self._known(keys)
        return [prompt for key, prompt in keys.items() if key not in known]

    def cached(self, model_name: str, prompt_texts: Sequence[str], max_chars: int = CONTEXT_CHARS) -> list[str]:
        """Return the cached reply to each prompt, in order; "" where there is none."""
        keys = [_key(model_name, prompt, max_chars) for prompt in prompt_texts]
        known = self._known(keys)
        return [known.get(key, "") for key in keys]

    def remembered(self, name: str, compute: Callable[[], str]) -> str:
        """Return the text cached under ``name``; compute and cache it if there is none.

        Raises:
            CacheUnusable: the file cannot be read or written.
        """
        key = _key("", name, CONTEXT_CHARS)
        if (text := self._known([key]).get(key)) is None:
            text = compute()
            self._cache.write({key: text})
        return text

    def _known(self, keys: Iterable[bytes]) -> dict[bytes, str]:
        return {key: context for rows in self._cache.read(keys) for key, context in rows}

    def _asked(
        self, model: LanguageModel, batch: Sequence[tuple[bytes, str]], tidy: Callable[[str], str]
    ) -> dict[bytes, str]:
        """Send a batch of prompts and commit all replies, even if one of the calls fails."""
        fresh: dict[bytes, str] = {}
        try:
            with ThreadPoolExecutor(min(CALLS_AT_ONCE, len(batch))) as pool:
                pending = [(key, pool.submit(model.ask, prompt)) for key, prompt in batch]
                failure: BaseException | None = None
                for key, future in pending:
                    # All calls of the batch have been sent and paid for: keep every reply, then raise the failure.
                    if (error := future.exception()) is None:
                        fresh[key] = tidy(future.result())
                    else:
                        failure = failure or error
                if failure is not None:
                    raise failure
        finally:
            # An empty reply may be better the next time.
            self._cache.write({key: context for key, context in fresh.items() if context})
        return fresh


def tidy_context(reply: str, max_chars: int = CONTEXT_CHARS) -> str:
    """Put a reply on one line and cut it between words to at most ``max_chars`` characters."""
    # A lone surrogate cannot be encoded as UTF-8.
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
    """Return a copy of each chunk with the model's context in front of its text, row by row, for indexing.

    Offsets stay those of the original chunks, which searches still return.

    Args:
        language: "es" or "en", the language of the prompts.
        batch_size: prompts per commit to the cache.
        max_tokens: limit of a context, at 4 characters per token.

    Raises:
        ChatbotError, OSError: the model gave no reply.
        CacheUnusable: the cache cannot be read or written.
    """
    texts = list(enrichment_prompts(chunks, language))
    contexts = cache.contexts(model, texts, batch_size, progress, CHARS_PER_TOKEN * max_tokens)
    return with_contexts(chunks, contexts)


def with_contexts(chunks: Sequence[Chunk], contexts: Sequence[str]) -> list[Chunk]:
    """Return a copy of each chunk with its context in front of its text; "" adds nothing."""
    return [
        replace(chunk, text=f"{context}\n{chunk.text}") if context else chunk
        for chunk, context in zip(chunks, contexts, strict=True)
    ]


def enrichment_prompts(chunks: Sequence[Chunk], language: str) -> Iterator[str]:
    """Yield one prompt per chunk, in order: with the document if it has several chunks, else with the title only."""
    for _, group in groupby(chunks, key=lambda chunk: chunk.doc_id):
        parts = list(group)
        source = _source(parts) if len(parts) > 1 else None
        for chunk in parts:
            if source is None:
                yield filled("context_from_title", language, section=chunk.section, chunk=chunk.text)
            else:
                shown = _around(source, chunk)
                yield filled("context_in_document", language, document=shown, section=chunk.section, chunk=chunk.text)


def missing_prompts(
    chunks: Sequence[Chunk],
    language: str,
    model_name: str,
    path: Path,
    max_tokens: int = CONTEXT_CHARS // CHARS_PER_TOKEN,
) -> list[str]:
    """Return the distinct prompts that ``enrich`` would send with its cache at ``path``. Sends and writes nothing."""
    texts = list(enrichment_prompts(chunks, language))
    return without_reply(texts, model_name, path, CHARS_PER_TOKEN * max_tokens)


def without_reply(
    prompt_texts: Sequence[str], model_name: str, path: Path, max_chars: int = CONTEXT_CHARS
) -> list[str]:
    """Return the distinct prompts that have no reply in the cache at ``path``, which need not exist."""
    if not path.is_file():
        return list(dict.fromkeys(prompt_texts))
    return ContextCache(path).missing(model_name, prompt_texts, max_chars)


def _source(chunks: Sequence[Chunk]) -> str:
    """Rebuild the document from its chunks, every character at its offset; gaps are filled with line breaks."""
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
