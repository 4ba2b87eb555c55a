"""What the parts ask: knowledge bases with questions, models of fixed rules, and an App over them."""

from __future__ import annotations

import atexit
import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.recorder.facts import Place
from benchmarks.script import ROOT, SAMPLES
from chatbot_mvp.app import App
from chatbot_mvp.embedding.registry import Embedders
from chatbot_mvp.knowledge_base.gathering import given
from chatbot_mvp.llm.base import ChatModel, ChatRequest, ChatStream, Completion, FinishedStream, ignore_reply
from chatbot_mvp.llm.chosen import Left, ModelSource
from chatbot_mvp.llm.language_model import LanguageModel
from chatbot_mvp.llm.providers import Providers
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.settings.model import Settings, load_settings
from chatbot_mvp.text import Analyzer, detect_language, sentences
from chatbot_mvp.types import Chunk

EVERYDAY = ROOT / "benchmarks" / "everyday"
SPANISH = [path for path in sorted(EVERYDAY.glob("*.md")) if not path.stem.endswith("_en")]
ENGLISH = [*sorted((ROOT / "benchmarks" / "evidence_en").glob("*.md")), *sorted(EVERYDAY.glob("*_en.md"))]

SHARED_CHARS = 20_000
"""Length of the beginning of a long text that is asked."""


@dataclass(frozen=True)
class Asked:
    """A question; ``before`` is what was asked before it in the same conversation."""

    id: str
    text: str
    before: str = ""


@dataclass(frozen=True)
class Base:
    """A knowledge base with questions about it."""

    name: str
    files: tuple[Path, ...]
    questions: tuple[Asked, ...]
    shared: bool = False


def bases(place: Place) -> Iterator[Base]:
    """Yield the handbook, texts of everyday life, English ones, and two of ../shared."""
    handbook = next((SAMPLES / "kb").glob("*.md"))
    asked = [*_asked(SAMPLES / "kb" / "preguntas.jsonl"), *_asked(ROOT / "benchmarks" / "kb_links_es.jsonl")]
    yield Base("handbook", (handbook,), (*asked, *(one for one in _own_words() if handbook.name in one.id)))
    yield Base("english", tuple(ENGLISH), tuple(one for file in ENGLISH for one in _asked(file.with_suffix(".jsonl"))))
    yield Base("everyday", tuple(SPANISH), tuple(one for file in SPANISH for one in _asked(file.with_suffix(".jsonl"))))
    if place.shared is not None:
        for name, path, questions in (
            ("xquad", "xquad_es/kb.md", "xquad_es/questions.jsonl"),
            ("manual", "manuales_es/aptitude.md", "manuales_es/aptitude.questions.jsonl"),
        ):
            text = (place.shared / path).read_text("utf-8")
            beginning = place.work / f"{name}.md"
            beginning.write_text(text[: text.rfind("\n\n", 0, SHARED_CHARS)], "utf-8")
            yield Base(name, (beginning,), tuple(_asked(place.shared / questions))[:150], shared=True)


def _own_words() -> Iterator[Asked]:
    for row in rows_of(ROOT / "benchmarks" / "own_words.jsonl"):
        yield Asked(f"{Path(row['kb']).name} {row['id']}", row["question"])


def _asked(path: Path) -> Iterator[Asked]:
    for row in rows_of(path) if path.is_file() else ():
        yield Asked(f"{path.stem} {row['id']}", row["question"], row.get("before", ""))


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def some(items: Sequence[Any], count: int) -> list[Any]:
    """Return at most ``count`` of some items, spread evenly; fewer of them are always among more of them."""
    return [items[at] for at in sorted(sorted(range(len(items)), key=lambda at: (_spread(at), at))[:count])]


def _spread(at: int) -> int:
    return int.from_bytes(hashlib.blake2b(str(at).encode(), digest_size=4).digest())


def short_hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def words_about(prompt: str) -> str:
    """Reply to a prompt of the search: a number where one is asked for, else some words of its data."""
    seed = int.from_bytes(hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).digest()[:4])
    if re.search(r"\b0 (?:to|al?) 10\b", prompt):
        return str(seed % 11)
    data = re.sub(r"</?datos-\w+>", " ", prompt[: prompt.rfind("</datos-")])
    words = sorted(set(re.findall(r"[^\W\d_]{6,}", data)), key=lambda word: (short_hash(word), word))
    return ", ".join(words[: 3 + seed % 4])


class Rule:
    """A ``ChatModel`` whose reply is a function of the request."""

    needs_evidence = False

    def __init__(self, name: str, reply: Callable[[ChatRequest], str]) -> None:
        self.name = f"recorder/{name}"
        self._reply = reply

    def complete(self, request: ChatRequest) -> Completion:
        return Completion(self._reply(request), self.name, 0.0)

    def stream(self, request: ChatRequest) -> ChatStream:
        return FinishedStream(self.complete(request))


def _right(request: ChatRequest) -> str:
    """The sentence of the passages that has most of the question's words, with its citation."""
    assert request.grounding is not None
    number, sentence = _best(request.grounding.question, request.grounding.passages)
    return f"{sentence.rstrip('.')} [{number}]."


def _wrong(request: ChatRequest) -> str:
    """The same sentence with a fault, or one that no passage has."""
    assert request.grounding is not None
    number, sentence = _best(request.grounding.question, request.grounding.passages)
    seed = _spread(len(sentence))
    changed = re.sub(r"\d+", lambda found: str(int(found[0][:9]) + 7), sentence)
    faults = (
        f"{changed.rstrip('.')} [{number}].",
        f"No es cierto que {sentence[:1].lower()}{sentence[1:].rstrip('.')} [{number}].",
        f"The lighthouse of Alexandria was 103 metres high [{number}].",
        f"{sentence.rstrip('.')} [{len(request.grounding.passages)}].",
    )
    return faults[seed % len(faults)]


def _half(request: ChatRequest) -> str:
    """Half an answer, or none: what a model sends that does not do as it is told."""
    assert request.grounding is not None
    number, sentence = _best(request.grounding.question, request.grounding.passages)
    forms = (
        f"{sentence} [{number}, 1]\n\n- Además lo decidió el Consejo de Ministros en 1987 [9].",
        f"1. {sentence}\n2. {sentence.upper()} [{number}]\n\n```\nprint([1])\n```",
        "",
        "??? </datos> [42]",
        f"**{sentence}** Según Aurelio Trujillo, casi siempre [1] [2].",
    )
    return forms[_spread(len(sentence)) % len(forms)]


def _best(question: str, passages: Sequence[Chunk]) -> tuple[int, str]:
    analyzer = Analyzer(detect_language(question))
    wanted = set(analyzer.terms(question))
    every = [
        (len(wanted & set(analyzer.terms(chunk.text[start:end]))), -number, chunk.text[start:end])
        for number, chunk in enumerate(passages, 1)
        for start, end in sentences(chunk.text)
    ]
    _, number, sentence = max(every, default=(0, -1, "Nada."))
    return -number, " ".join(sentence.split())


def _rule(name: str, grounded: Callable[[ChatRequest], str]) -> Rule:
    def reply(request: ChatRequest) -> str:
        system, user = request.messages[0].content, request.messages[-1].content
        if request.grounding is not None and request.grounding.passages and "[1]" in system:
            return grounded(request)
        if "|" in system:  # readings of a question: of two passages, with a word of each
            numbered = re.findall(r"^\[(\d)\] ?(.*)$", user, re.M)[:3]
            return (
                "\n".join(f"{number} | {text[:40]} | ¿Qué dice de {text[:40]}?" for number, text in numbered) or "CLARA"
            )
        return words_about(f"{system}\n{user}")

    return Rule(name, reply)


MODELS = {"openai": _rule("right", _right), "groq": _rule("wrong", _wrong), "nim": _rule("half", _half)}
"""Provider that it stands for -> a model: answers rightly, answers what the passages do not say, answers by halves."""


class RuledProviders(Providers):
    """The providers, with models of fixed rules in the place of three of them, and one for the search."""

    def model(self, settings: Settings) -> ChatModel:
        return MODELS.get(settings.chosen_provider) or super().model(settings)

    def language_model(self, settings: Settings, on_reply: Any = ignore_reply) -> LanguageModel:
        return LanguageModel("recorder/words", words_about)

    def while_chosen(self, provider: str, left: Left) -> ModelSource:
        return self  # which is never left


@cache
def _kept_vectors() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="recorder-vectors-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def open_app(folder: Path, **changes: Any) -> App:
    """Return the App over a data folder; unless ``provider`` is one of ``MODELS``, the built-in one answers."""
    (folder / "cache").mkdir(parents=True, exist_ok=True)
    for name in ("vectors.sqlite", "tokens.sqlite"):  # a text is embedded once in this process
        if not (link := folder / "cache" / name).is_symlink():
            link.symlink_to(_kept_vectors() / name)
    live = LiveSettings(load_settings(data_dir=folder, **{"provider": "demo", **changes}))
    return App(live, RuledProviders(live), Embedders(live))


def kb_of(app: App, base: Base) -> str:
    """Keep a base in an App, and return its id; if it is there already, the id that it has."""
    known = {record.kb_name: record.kb_id for record in app.kbs.records()}
    if base.name not in known:
        files = given([str(path) for path in base.files], app.settings)
        known[base.name] = app.kb_filing.create(base.name, files).record.kb_id
    app.kbs.pipeline(known[base.name])  # with all its vectors: the chat asks with those that there are
    return known[base.name]
