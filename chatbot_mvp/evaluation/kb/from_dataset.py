"""Keep a data set as a knowledge base, a file for each document, with its judged queries as a question set."""

from __future__ import annotations

from collections import Counter

from chatbot_mvp.datasets import Dataset
from chatbot_mvp.documents.chunking import LIMIT_CHARS
from chatbot_mvp.documents.parsing import ParsedText
from chatbot_mvp.evaluation.kb.questions import KbQuestion, places_of
from chatbot_mvp.evaluation.kb.sets import QuestionSet, SetQuestion
from chatbot_mvp.knowledge_base.record import KbRecord
from chatbot_mvp.knowledge_base.store import KbStore
from chatbot_mvp.metrics.decisions import ANSWERABLE


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
