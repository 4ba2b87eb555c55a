"""Compare ways to batch texts for CTranslate2 that keep a text's vector free of the texts beside it.

    python benchmarks/embedding_batches.py [--models DIR] [--turns 3] [--characters 20000]

Prints a Markdown table for each setting of the environment: the processor as it is, and as oneDNN makes it look with
AVX2 and with SSE4.1 only. A row is one way: processor seconds of the ways in use so far (batches of similar length)
for sentences and for passages as ratio; the largest difference between the token states, and between the vectors, of
texts in batches and of the same texts, each alone. The ways take turns, and the least time of each counts, so that
other work on the machine meets all of them alike. The texts are lines of the project's own pages.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.embedding.cache import parts
from chatbot_mvp.embedding.e5.conversion import converted_model
from chatbot_mvp.embedding.e5.tokens import E5Tokens
from chatbot_mvp.embedding.e5.weights import E5File, model_file
from chatbot_mvp.settings.model import PROJECT_ROOT

ENVIRONMENTS: dict[str, dict[str, str]] = {
    "as it is": {},
    "CT2_USE_MKL=0 ONEDNN_MAX_CPU_ISA=AVX2": {"CT2_USE_MKL": "0", "ONEDNN_MAX_CPU_ISA": "AVX2"},
    "ONEDNN_MAX_CPU_ISA=SSE41": {"ONEDNN_MAX_CPU_ISA": "SSE41"},
    "CT2_USE_MKL=1": {"CT2_USE_MKL": "1"},
}
_BATCH_TOKENS = 512
_PART_CHARS = 20_000  # the cache hands over so many characters at once
_PASSAGE_LINES = 4

Ids = list[int]
Batches = list[list[int]]
Way = Callable[[Sequence[Ids]], list[Vectors]]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--models", type=Path, help="folder of the converted weights; default: a temporary one")
    options.add_argument("--turns", type=int, default=3)
    options.add_argument("--characters", type=int, default=20_000, help="of sentences, and of passages")
    options.add_argument("--here", action="store_true", help="measure in this process only")
    given = options.parse_args()
    if given.here:
        measure(given.models, given.turns, given.characters)
        return
    with tempfile.TemporaryDirectory() as folder:
        models = str(given.models or folder)
        for name, variables in ENVIRONMENTS.items():
            print(f"\n### {name}\n", flush=True)
            again = [sys.executable, __file__, "--here", "--models", models]
            again += ["--turns", str(given.turns), "--characters", str(given.characters)]
            subprocess.run(again, env=os.environ | variables, check=True)


def measure(models: Path, turns: int, characters: int) -> None:
    """Print the table of this process."""
    file = E5File(model_file())
    tokens, folder = E5Tokens(file), converted_model(model_file(), models)
    kinds = {
        kind: [
            [tokens.windows(text, "passage")[0] for text in part]
            for part in parts(texts, len, min(_PART_CHARS, characters))
        ]
        for kind, texts in (("sentences", _lines(characters)), ("passages", _passages(characters)))
    }
    ways = _ways(folder)
    print("| way | sentences | passages | largest difference of a state | of a vector |\n|---|--:|--:|--:|--:|")
    seconds: dict[tuple[str, str], float] = {}
    for _ in range(turns):
        for kind, several in kinds.items():
            for name, (batched, _) in ways.items():
                begin = time.process_time()
                for part in several:
                    batched(part)
                took = time.process_time() - begin
                seconds[kind, name] = min(took, seconds.get((kind, name), took))
    first = next(iter(ways))
    for name, (batched, alone) in ways.items():
        states, vectors = _differences(batched, alone, [part for several in kinds.values() for part in several[:1]])
        ratios = " | ".join(f"{seconds[kind, name] / seconds[kind, first]:.2f}" for kind in kinds)
        print(f"| {name} | {ratios} | {states:.1e} | {vectors:.1e} |", flush=True)


def _ways(folder: Path) -> dict[str, tuple[Way, Way]]:
    """Return name -> (texts in batches, each text alone); the first is what the others are compared with."""
    import ctranslate2

    def encoder(kind: str, threads: int = 1) -> ctranslate2.Encoder:
        return ctranslate2.Encoder(str(folder), device="cpu", compute_type=kind, intra_threads=threads)

    int8, float32 = encoder("int8"), encoder("float32")
    as_is = partial(_run, int8, 1)
    ways: dict[str, tuple[Way, Way]] = {
        "similar length": (partial(as_is, _similar), partial(as_is, _alone)),
        "one text a call": (partial(as_is, _alone), partial(as_is, _alone)),
        "equal length": (partial(as_is, _equal), partial(as_is, _alone)),
    }
    for step in (4, 8, 16, 32):
        padded = partial(_run, int8, step)
        ways[f"padded to a multiple of {step}"] = (partial(padded, partial(_equal, step=step)), partial(padded, _alone))
    of_floats = partial(_run, float32, 1)
    ways["similar length, weights of 32 bits"] = (partial(of_floats, _similar), partial(of_floats, _alone))
    two = partial(_run, encoder("int8", 2), 1)
    ways["similar length, two cores a batch"] = (partial(two, _similar), partial(two, _alone))
    return ways


def _run(
    encoder: object, step: int, batches_of: Callable[[Sequence[Ids]], Batches], texts: Sequence[Ids]
) -> list[Vectors]:
    import ctranslate2

    found: dict[int, Vectors] = {}
    for batch in batches_of(texts):
        lengths = [len(texts[row]) for row in batch]
        ids = np.ones((len(batch), -(-max(lengths) // step) * step), dtype=np.int32)
        for at, row in enumerate(batch):
            ids[at, : lengths[at]] = texts[row]
        view = ctranslate2.StorageView.from_array
        output = encoder.forward_batch(view(ids), view(np.array(lengths, dtype=np.int32)))  # type: ignore[attr-defined]  # ctranslate2 has no types
        for at, (row, states) in enumerate(zip(batch, np.asarray(output.last_hidden_state), strict=True)):
            found[row] = np.array(states[: lengths[at]])
    return [found[row] for row in range(len(texts))]


def _alone(texts: Sequence[Ids]) -> Batches:
    return [[row] for row in range(len(texts))]


def _similar(texts: Sequence[Ids]) -> Batches:
    return _batches(texts, len, together=lambda one, other: True)


def _equal(texts: Sequence[Ids], step: int = 1) -> Batches:
    return _batches(texts, lambda ids: -(-len(ids) // step) * step, together=lambda one, other: one == other)


def _batches(texts: Sequence[Ids], length: Callable[[Ids], int], together: Callable[[int, int], bool]) -> Batches:
    lengths = [length(ids) for ids in texts]
    batches: Batches = []
    for row in sorted(range(len(texts)), key=lengths.__getitem__):
        full = not batches or (len(batches[-1]) + 1) * lengths[row] > _BATCH_TOKENS
        if full or not together(lengths[batches[-1][0]], lengths[row]):
            batches.append([])
        batches[-1].append(row)
    return batches


def _differences(batched: Way, alone: Way, several: Sequence[Sequence[Ids]]) -> tuple[float, float]:
    """Return the largest difference of a token state, and of a pooled vector of length 1."""
    of_states = of_vectors = 0.0
    for part in several:
        for one, other in zip(batched(part), alone(part), strict=True):
            of_states = max(of_states, float(np.abs(one - other).max()))
            of_vectors = max(of_vectors, float(np.abs(_pooled(one) - _pooled(other)).max()))
    return of_states, of_vectors


def _pooled(states: Vectors) -> Vectors:
    mean: Vectors = states.mean(axis=0)
    normalized: Vectors = mean / np.linalg.norm(mean)
    return normalized


def _lines(characters: int) -> list[str]:
    pages = [*sorted((PROJECT_ROOT / "data" / "samples").rglob("*.md")), *sorted((PROJECT_ROOT / "docs").rglob("*.md"))]
    return list(_until(characters, (line for page in pages for line in page.read_text("utf-8").splitlines() if line)))


def _passages(characters: int) -> list[str]:
    lines = [line for line in _lines(3 * characters) if not line.startswith(("|", "#"))]
    several = (" ".join(lines[at : at + _PASSAGE_LINES]) for at in range(0, len(lines), _PASSAGE_LINES))
    return list(_until(characters, (text for text in several if len(text) > 300)))


def _until(characters: int, texts: Iterator[str]) -> Iterator[str]:
    for text in texts:
        yield text
        characters -= len(text)
        if characters <= 0:
            return


if __name__ == "__main__":
    main()
