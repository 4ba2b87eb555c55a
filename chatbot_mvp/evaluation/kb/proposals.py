"""Make question sets: proposed by a model if there is one, else by rules, or of the queries of a data set.

Proposals include questions without an answer.

What a model proposes is checked against the text. The sentence that it quotes as evidence must occur in the chunk. A
question that it calls unanswerable is searched in the whole knowledge base, and dropped if a passage found there
answers it.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from chatbot_mvp.datasets import Dataset
from chatbot_mvp.documents.chunking import LIMIT_CHARS
from chatbot_mvp.documents.parsing import ParsedText
from chatbot_mvp.errors import (
    ChatbotError,
    KbEvaluationError,
    KbUnreadable,
    NeedsLanguageModel,
    ProviderError,
    RunStopped,
)
from chatbot_mvp.evaluation.kb.questions import KbQuestion, places_of
from chatbot_mvp.evaluation.kb.rules import answerable_by_rules, far_by_rules, near_by_rules, renumbered, split_count
from chatbot_mvp.evaluation.kb.sets import QuestionSet, SetQuestion, new_question_id
from chatbot_mvp.judges.asking import Asked, ask
from chatbot_mvp.knowledge_base.knowledge_bases import KnowledgeBases
from chatbot_mvp.knowledge_base.record import KbRecord
from chatbot_mvp.knowledge_base.store import KbStore
from chatbot_mvp.knowledge_base.suggestions import spread, suggest_questions
from chatbot_mvp.llm.base import ChatModel, Message
from chatbot_mvp.metrics.decisions import ANSWERABLE
from chatbot_mvp.prompting.fence import as_data, fence_name, from_data
from chatbot_mvp.prompting.loader import PromptFolder
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.text import LANGUAGES, fold
from chatbot_mvp.types import Chunk, Progress, ProgressCallback

_PROMPTS = PromptFolder(Path(__file__).parent / "prompts")
_PER_CHUNK = 2
"""Number of questions per chunk, so that a set covers many chunks."""
_SHORTEST_CHUNK = 150
_SHORTEST_EVIDENCE = 12
_GIVE_UP = 3
"""Number of successive chunks without a reply after which the proposer gives up."""
_POINTS = re.compile(
    r"\b(?:el|este|del|al) (?:texto|fragmento|pasaje)\b|\bsegún (?:el|este) (?:documento|apartado)\b"
    r"|\b(?:the|this) (?:text|passage|excerpt)\b|\baccording to (?:the|this) (?:document|section)\b",
    re.I,
)
_TOKENS = 1_200

Find = Callable[[str], Sequence[Chunk]]
"""Return the passages on which the chat would base its answer to a question."""

_OTHER_KBS, _OF_EACH = 5, 4  # source of questions on other subjects


class ProposedQuestion(BaseModel):
    question: str
    evidence: str


class Proposals(BaseModel):
    """A model's reply when it is asked to propose questions about a chunk."""

    questions: list[ProposedQuestion]
    unanswerable: list[str] = []


class Answered(BaseModel):
    """A model's reply when it is asked whether passages answer a question."""

    evidence: str = ""
    answered: bool


class ModelProposer:
    """Asks a model for questions, chunk by chunk. Keeps the questions found so far, even if the run is stopped."""

    def __init__(self, model: ChatModel, chunks: Sequence[Chunk], language: str, find: Find) -> None:
        self._model = model
        self._chunks = [chunk for chunk in chunks if len(chunk.text) >= _SHORTEST_CHUNK] or list(chunks)
        self._language = language if language in LANGUAGES else "en"
        self._find = find
        self._seen: set[str] = set()
        self._unchecked: list[tuple[str, Chunk]] = []
        self._tokens = 0
        self._cost: float | None = None
        self.answerable: list[SetQuestion] = []
        self.near: list[SetQuestion] = []
        self.dropped: Counter[str] = Counter()
        """Reason -> number of dropped proposals: evidence_missing, answered_elsewhere, repeated, points_at_text and
        no_reply, which counts chunks instead of questions."""
        self.trouble = ""
        """Explanation for the user of why the last unusable reply could not be used."""

    def run(self, answerable: int, near: int, progress: ProgressCallback) -> None:
        """Collect up to ``answerable`` and ``near`` questions of these kinds.

        Raises:
            RunStopped: the questions found by then are kept.
            ProviderError: an error that would make every further request fail too.
        """
        self._ask_chunks(answerable, near, progress)
        self._check_near(near, progress)

    def _ask_chunks(self, answerable: int, near: int, progress: ProgressCallback) -> None:
        started = time.monotonic()
        # First chunks spread over the document, then the others, to replace dropped proposals.
        rows = spread(range(len(self._chunks)), -(-answerable // _PER_CHUNK))
        rows += [row for row in range(len(self._chunks)) if row not in set(rows)]
        wanted_near = -(-near // max(1, min(len(rows), -(-answerable // _PER_CHUNK)))) + 1
        silent = 0
        for row in rows:
            if len(self.answerable) >= answerable and len(self._unchecked) >= near:
                break
            chunk = self._chunks[row]
            fenced = {"passage": chunk.text, "section": chunk.section}
            asked = self._asked(self._messages("propose", fenced, count=_PER_CHUNK, near=wanted_near), Proposals)
            silent = 0 if asked.value else silent + 1
            if asked.value:
                self._take(chunk, asked.value, answerable)
            else:
                self.dropped["no_reply"] += 1
                self.trouble = asked.detail
            self._tell(progress, "kb_propose", len(self.answerable), answerable, started)
            if silent >= _GIVE_UP:
                break
        # Many chunks yield more questions than needed; the checked ones should cover all parts of the document.
        self._unchecked = [self._unchecked[at] for at in spread(range(len(self._unchecked)), 2 * near)]

    def _take(self, chunk: Chunk, proposals: Proposals, answerable: int) -> None:
        for proposed in proposals.questions[:_PER_CHUNK]:
            if len(self.answerable) >= answerable:
                break
            question = _one_line(proposed.question)
            if not self._is_new(question):
                continue
            place = find_evidence(chunk.text, from_data(proposed.evidence))
            if place is None:
                self.dropped["evidence_missing"] += 1
                continue
            evidence = chunk.text[slice(*place)]
            asked = KbQuestion(new_question_id(), question, "answerable", evidence, chunk.section or None)
            self.answerable.append(SetQuestion(asked, origin="model"))
        for text in proposals.unanswerable:
            question = _one_line(text)
            if self._is_new(question):
                self._unchecked.append((question, chunk))

    def _check_near(self, near: int, progress: ProgressCallback) -> None:
        started = time.monotonic()
        for question, chunk in self._unchecked:
            if len(self.near) >= near:
                return
            passages = list(self._find(question)) or [chunk]
            fenced = {"passage": "\n\n".join(passage.text for passage in passages), "question": question}
            asked = self._asked(self._messages("check", fenced), Answered)
            if asked.value is None:
                self.dropped["no_reply"] += 1
                self.trouble = asked.detail
            elif asked.value.answered and any(
                find_evidence(passage.text, from_data(asked.value.evidence)) for passage in passages
            ):
                self.dropped["answered_elsewhere"] += 1
            else:
                kept = KbQuestion(new_question_id(), question, "near", None, chunk.section or None)
                self.near.append(SetQuestion(kept, origin="model"))
            self._tell(progress, "kb_propose_near", len(self.near), near, started)

    def _is_new(self, question: str) -> bool:
        if not question:
            return False
        fault = "points_at_text" if _POINTS.search(question) else "repeated" if fold(question) in self._seen else ""
        if fault:
            self.dropped[fault] += 1
            return False
        self._seen.add(fold(question))
        return True

    def _asked(self, messages: tuple[Message, ...], reply: type[Any]) -> Asked[Any]:
        asked = ask(self._model, messages, reply, max_tokens=_TOKENS, language=self._language)
        usage = asked.usage
        self._tokens += (usage.prompt_tokens or 0) + (usage.completion_tokens or 0)
        if usage.cost_usd is not None:
            self._cost = (self._cost or 0.0) + usage.cost_usd
        return asked

    def _tell(self, progress: ProgressCallback, phase: str, done: int, total: int, started: float) -> None:
        seconds = time.monotonic() - started
        progress(Progress(phase, done, total, seconds, tokens=self._tokens, cost_usd=self._cost))

    def _messages(self, prompt: str, fenced: Mapping[str, str], **values: int) -> tuple[Message, ...]:
        """Return the messages of a prompt and its ``<prompt>_user``, with the data in a fence."""
        texts = _PROMPTS.texts(self._language)
        data = {name: as_data(text) for name, text in fenced.items()}
        fence = fence_name(*data.values(), prompt)
        return (
            Message("system", texts[prompt].format(fence=fence, **values).strip()),
            Message("user", texts[f"{prompt}_user"].format(fence=fence, **data).strip()),
        )


def find_evidence(text: str, quoted: str) -> tuple[int, int] | None:
    """Return (start, end) of a quote in a text, ignoring white space and quotation mark style; None if not found."""
    words = quoted.strip().strip("\"'«»“”… ").split()
    if not _SHORTEST_EVIDENCE <= len(" ".join(words)) <= len(text):
        return None
    pattern = r"\s+".join(re.sub(r"[\"'«»“”‘’]", "[\"'«»“”‘’]", re.escape(word)) for word in words)
    found = re.search(pattern, text)
    return found.span() if found else None


def _one_line(text: str) -> str:
    return " ".join(from_data(text).split())[:300]


def make_proposals(
    kbs: KnowledgeBases, kb_id: str, name: str, count: int, model: ChatModel | None, progress: ProgressCallback
) -> tuple[QuestionSet, ChatbotError | None]:
    """Return (proposed set, not saved; the stop or provider error that ended the work early, or None).

    Args:
        name: name of the set.
        count: maximum number of questions.
        model: the model that writes the questions; None to make them by rules.

    Raises:
        KbNotFound, KbUnreadable, KbEvaluationError (nothing_proposed, proposals_unusable)
        RunStopped, ProviderError, NeedsLanguageModel: only if no question had been found by then.
    """
    record, document = kbs.store.record(kb_id), kbs.store.document(kb_id)
    answerable, near, far = split_count(count)
    ended_by: ChatbotError | None = None
    dropped: dict[str, int] = {}
    trouble = ""
    if model is not None:
        chunks = kbs.pipeline(kb_id, progress).index.chunks
        # The pipeline is looked up for each question, because it asks the provider that was chosen when it was built.
        proposer = ModelProposer(model, chunks, record.language, lambda q: _passages(kbs.pipeline(kb_id, progress), q))
        try:
            proposer.run(answerable, near, progress)
        except (RunStopped, ProviderError, NeedsLanguageModel) as error:
            ended_by = error
        questions = [*proposer.answerable, *proposer.near]
        dropped, trouble = dict(proposer.dropped), proposer.trouble
    else:
        questions = answerable_by_rules(document, record.language, answerable)
        questions += near_by_rules(document, record.language, near) if questions else []
    if not questions and ended_by is not None:
        raise ended_by
    if not questions and model is not None:
        counts = ", ".join(f"{reason} ({times})" for reason, times in dropped.items())
        raise KbEvaluationError("proposals_unusable", kb_id=kb_id, reason=trouble or counts)
    if not questions:
        raise KbEvaluationError("nothing_proposed", kb_id=kb_id)
    questions += far_by_rules(document, record.language, far, _questions_elsewhere(kbs.store, kb_id, record.language))
    return QuestionSet("", kb_id, name, record.sha256, utc_now(), tuple(renumbered(questions)), dropped), ended_by


def _questions_elsewhere(store: KbStore, kb_id: str, language: str) -> list[str]:
    """Return questions that other knowledge bases in this language can answer."""
    others = [one for one in store.records() if one.kb_id != kb_id and one.language == language]
    found: list[str] = []
    for record in others[:_OTHER_KBS]:
        with suppress(KbUnreadable):
            found += suggest_questions(store.document(record.kb_id), language, _OF_EACH)
    return found


def _passages(pipeline: Pipeline, question: str) -> tuple[Chunk, ...]:
    [trace] = pipeline.retrieve([question])
    return tuple(hit.chunk for hit in trace.chunks_final)


def kb_of_dataset(store: KbStore, dataset: Dataset, max_chars: int) -> tuple[KbRecord, QuestionSet]:
    """Store the documents as a knowledge base; return it and its question set, which is not saved.

    The expected paragraph of a question is its first relevant document. Questions whose document was cut off, or is
    too long for one chunk, expect no paragraph, so that their rank is not scored.

    Args:
        max_chars: limit of the text; documents beyond it are cut off (``KbRecord.kb_truncated``).

    Raises:
        UploadError (upload_empty): the documents have no text.
    """
    titles: Counter[str] = Counter()
    files = []
    for document in dataset.documents:
        title = " ".join(document.title.replace("/", "-").split()) or document.doc_id
        titles[title] += 1
        name = title if titles[title] == 1 else f"{title} ({titles[title]})"
        text = document.text.strip()
        files.append((f"{name}.md", ParsedText(text, "utf-8", len(text), False)))
    record = store.keep(files, max_chars, dataset.name)
    text = store.document(record.kb_id).text
    questions = []
    for query in dataset.judged or dataset.queries:
        relevant = [doc_id for doc_id, grade in dataset.qrels.get(query.query_id, {}).items() if grade > 0]
        paragraph = dataset.documents[dataset.rows[relevant[0]]].text.strip() if relevant else ""
        found = len(paragraph) <= LIMIT_CHARS and places_of(text, paragraph)
        answers = (query.answer,) if query.answer else ()
        question = KbQuestion(query.query_id, query.text, ANSWERABLE, paragraph if found else None, answers=answers)
        questions.append(SetQuestion(question, origin="file"))
    return record, QuestionSet("", record.kb_id, dataset.name, record.sha256, questions=tuple(questions))
