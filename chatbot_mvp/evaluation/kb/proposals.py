"""Make question sets: proposed by a model if there is one, else by rules, or of the queries of a data set.

Proposals include questions without an answer.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

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
from chatbot_mvp.evaluation.kb.by_model import ModelProposer
from chatbot_mvp.evaluation.kb.questions import KbQuestion, places_of
from chatbot_mvp.evaluation.kb.rules import answerable_by_rules, far_by_rules, near_by_rules, renumbered, split_count
from chatbot_mvp.evaluation.kb.sets import QuestionSet, SetQuestion
from chatbot_mvp.knowledge_base.knowledge_bases import KnowledgeBases
from chatbot_mvp.knowledge_base.record import KbRecord
from chatbot_mvp.knowledge_base.store import KbStore
from chatbot_mvp.knowledge_base.suggestions import suggest_questions
from chatbot_mvp.llm.base import ChatModel
from chatbot_mvp.metrics.decisions import ANSWERABLE
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.types import Chunk, ProgressCallback

_OTHER_KBS, _OF_EACH = 5, 4  # source of questions on other subjects


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
