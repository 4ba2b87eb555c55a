"""Makes the data folder that ``kept`` opens, with everything in it that can be kept, through public operations.

python -m benchmarks.recorder.keeping ARCHIVE     make it anew
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.recorder.running import prepare
from benchmarks.script import ROOT, SAMPLES
from chatbot_mvp.api import UserContext
from chatbot_mvp.app import App, build_app
from chatbot_mvp.documents.parsing import parse_upload
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.evaluation.kb.sets import SetQuestion
from chatbot_mvp.knowledge_base.changes import Describe, Move, Remove
from chatbot_mvp.knowledge_base.versions import NewDocument
from chatbot_mvp.runs.records import QueryRecord, RunFolder
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.wings.effects.service import Effects
from chatbot_mvp.wings.links.service import AnswerLinks
from chatbot_mvp.wings.promise.service import Promises
from chatbot_mvp.wings.review.service import Reviews
from chatbot_mvp.wings.tune.service import Tuner
from chatbot_mvp.wings.tune.types import TuneOptions

VISITOR = "0" * 31 + "a"
LINK = "link.txt"
PURGED_WORD = "Ornitorrinco"
_LEFT_OUT = ("cache", "chroma", "visitor.key", ".in-use")
"""What is made again where it is missing; the key is a secret."""

_HOLIDAYS = (
    "# Vacaciones\n\nCada persona dispone de 23 días laborables de vacaciones al año.\n\nSe piden por escrito.\n"
)
_TRAVEL = (
    "# Dietas\n\nLa dieta completa es de 48 euros por cada día de viaje.\n\nEl hotel cuesta 90 euros como máximo.\n"
)
_PROJECT = f"# Proyecto\n\nEl proyecto se llama {PURGED_WORD} y empieza en marzo de 2027.\n"
_GARDEN = "# Allotments\n\nA full plot costs 38 pounds a year.\n\nBonfires are allowed from October to March.\n"
_WATER = "# Water\n\nThe taps are turned off on the first Monday of November.\n"


def app_over(data: Path, **more: Any) -> App:
    """Build the application over a folder, without a model and without vectors."""
    return build_app(
        load_settings(data_dir=data, provider="demo", retrieval_strategy="LEXICAL", generation_enabled=False, **more)
    )


def make(data: Path) -> Mapping[str, str]:
    """Fill a folder; return further files of the archive: name -> text."""
    app = app_over(data)
    app.live.change("kb_top_k", 4)
    rules, garden, sample = _rules(app), _garden(app), app.kbs.add_sample().kb_id
    link = _conversations(app, rules, garden)
    _changes_after(app, rules)
    _measured(app, sample, rules)
    app.kb_changes.purge(rules, ["proyecto.md"])
    own, effects = app.own_questions.own_set(rules), app.get(Effects)
    assert own, "the set of the questions of a person"
    effects.resume_now(rules, effects.create(effects.plan(rules, own.set_id)))
    app.presets.save("Solo palabras", {"retrieval_strategy": "LEXICAL", "retrieval_k": 7})
    subprocess.run([sys.executable, "-m", "benchmarks.recorder.keeping", "--killed", str(data)], cwd=ROOT, check=False)
    return {LINK: link, "made_at.txt": utc_now()}


def _new(path: str, text: str, **about: object) -> NewDocument:
    return NewDocument(path, parse_upload(path.rpartition("/")[2], text.encode(), 100_000, 1), about=about)


def _rules(app: App) -> str:
    """Keep the knowledge base that conversations cite before it changes; return its id."""
    documents = [_new("dietas.md", _TRAVEL), _new("proyecto.md", _PROJECT), _new("vacaciones.md", _HOLIDAYS)]
    return app.kbs.store.keep(documents, 100_000, "Normas").kb_id


def _changes_after(app: App, kb_id: str) -> None:
    """Change what conversations cite: a document moves, one says something else, one goes, one comes, a draft waits."""
    change = app.kb_changes.change
    change(kb_id, [Move("vacaciones.md", "rrhh/")], note="ordenado")
    change(kb_id, new=[_new("dietas.md", _TRAVEL.replace("48", "53"))], note="dietas de 2027")
    change(kb_id, [Describe("rrhh/vacaciones.md", {"title": "Vacaciones", "author": "Ana", "tags": ("norma", "2026")})])
    change(kb_id, new=[_new("garaje.md", "# Garaje\n\nHay 40 plazas de bicicletas.\n")], stage=True)
    app.kb_changes.publish(kb_id, "con garaje")
    change(kb_id, [Remove("dietas.md")], stage=True)


def _garden(app: App) -> str:
    kb_id = app.kbs.store.keep([_new("plots.md", _GARDEN)], 100_000, "Allotments").kb_id
    app.kb_changes.change(kb_id, new=[_new("water.md", _WATER)], note="taps")
    app.kb_changes.restore(kb_id, app.kb_changes.history(kb_id)[-1].entry.version_id, "as before")
    return kb_id


def _conversations(app: App, rules: str, garden: str) -> str:
    """Ask in three conversations, rate, rename, pin; return the token of a link to an answer."""
    chat, context = app.chat, UserContext()
    one = chat.start(VISITOR, rules, "Normas")
    turns = [
        _asked(app, one, question)
        for question in (
            "¿Cuántos días laborables de vacaciones hay al año?",
            "¿De cuántos euros es la dieta completa?",
            "¿Cuándo empieza el proyecto?",
            "¿Qué altura tiene la torre Eiffel?",
        )
    ]
    chat.rate(VISITOR, one, turns[0], True)
    chat.rate(VISITOR, one, turns[1], False, "ha cambiado", ("outdated",))
    chat.add_question(VISITOR, one, turns[0], "answerable", "23 días")
    chat.rename(VISITOR, one, "Condiciones")
    chat.pin(VISITOR, one, True)
    both = chat.start(VISITOR, garden, "Allotments", {rules: "Normas"})
    _asked(app, both, "How much does a full plot cost a year?")
    chat.begin(VISITOR, both, "¿Cuánto cuesta el hotel?", replace(context, mode="general")).join(60)
    stopped = chat.start(VISITOR, garden, "Allotments")
    _asked(app, stopped, "When are bonfires allowed?")
    return app.get(AnswerLinks).make(VISITOR, one, turns[0]).token


def _asked(app: App, conversation: str, question: str) -> str:
    turn = app.chat.begin(VISITOR, conversation, question, UserContext())
    assert turn.join(60)
    return turn.turn_id


def _measured(app: App, sample: str, rules: str) -> None:
    """Keep question sets, labels of two people, runs with notes, a promise and a tune."""
    questions = app.question_sets.import_set(sample, "Preguntas", (SAMPLES / "kb" / "preguntas.jsonl").read_bytes())
    result = app.kb_evaluation.evaluate(sample, questions.set_id)
    app.get(Promises).make(sample, result["run_id"], 0.97)
    empty = app.question_sets.empty_set(rules, "mías")
    asked = {"¿De cuánto es la dieta completa?": "answerable", "¿Hay piscina?": "near"}
    app.question_sets.save(
        replace(
            empty,
            questions=tuple(
                SetQuestion(KbQuestion(f"m{row}", *one), origin="person") for row, one in enumerate(asked.items())
            ),
        )
    )
    reviews = app.get(Reviews)
    for reviewer, verdict in (("Ana", "right"), ("Ben", "should_refuse")):
        for item in reviews.waiting(rules, reviewer)[:2]:
            if verdict in item.legal:
                reviews.judge(rules, item, verdict, reviewer)
    runs = [
        app.runs.run_now(mteb_dataset_name="valle_multihop", eval_max_queries=12, retrieval_strategy=one).run_id
        for one in ("LEXICAL", "BRIDGE")
    ]
    app.archive.tag(runs[0], ["base"])
    app.archive.write_note(runs[1], "con menciones", "")
    space = Path("space.toml")
    space.write_text('retrieval_strategy = ["BRIDGE", "LEXICAL"]\nretrieval_pre_fusion_k = [2, 20]\n')
    tuner = app.get(Tuner)
    tuner.resume_now(tuner.create(tuner.plan("valle_multihop", options=TuneOptions(space=space))))


def killed(data: Path) -> None:
    """Start a run as the pages do, and die after its first records, so that a job and a run are interrupted."""
    append = RunFolder.append_records

    def once(folder: RunFolder, records: Iterable[QueryRecord]) -> None:
        append(folder, list(records)[:5])
        os._exit(9)

    with patch.object(RunFolder, "append_records", once):
        app_over(data).runs.start_run(mteb_dataset_name="valle_multihop", retrieval_strategy="LEXICAL")
        time.sleep(60)  # until the thread of the job ends the process


def archive(path: Path) -> None:
    """Make the folder in a temporary one, and write it to an archive without places of this machine."""
    with tempfile.TemporaryDirectory(prefix="kept-") as work:
        data = Path(work).resolve() / "data"
        os.chdir(work)
        more = make(data)
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
            for file in sorted(data.rglob("*")):
                name = file.relative_to(data)
                if file.is_file() and name.parts[0] not in _LEFT_OUT and file.suffix != ".lock":
                    content = file.read_bytes()
                    for place, said in (
                        (str(data.parent), "/srv"),
                        (str(ROOT), "/opt/chatbot-mvp"),
                        (str(Path.home()), "/home"),
                    ):
                        content = content.replace(place.encode(), said.encode())
                    packed.writestr(f"data/{name.as_posix()}", content)
            for other, text in more.items():
                packed.writestr(other, text)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(out.getvalue())


if __name__ == "__main__":
    prepare()
    if sys.argv[1] == "--killed":
        killed(Path(sys.argv[2]))
    else:
        archive(Path(sys.argv[1]).resolve())
