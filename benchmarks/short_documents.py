"""Measure retrieval over a base of short documents, as a list of questions and answers or a folder of notes is one.

    python benchmarks/short_documents.py FILE.md QUESTIONS.jsonl [STRATEGY]

Each paragraph of the file becomes a document under a heading of its own (the section's heading and a number), so that
the walk over links ranks it as it ranks a data set. The questions stay; those about dropped paragraphs are left out.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

from kb_measure import evaluate_kb

from chatbot_mvp.documents.blocks import paragraphs
from chatbot_mvp.documents.chunking import chunk_document, split_sections
from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.embedding.registry import create_embedder
from chatbot_mvp.evaluation.kb.questions import KbQuestion, load_questions
from chatbot_mvp.retrieval.pipeline import growing_pipeline
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.types import Document, last

SHORTEST, LONGEST = 60, 1_400
"""Characters of the paragraphs that are kept: shorter ones say little alone, longer ones become several chunks."""


def short_documents(text: str) -> dict[str, str]:
    """Return heading -> paragraph on one line, in the order of the text."""
    found: dict[str, str] = {}
    numbers: Counter[str] = Counter()
    for section in split_sections(text):
        heading = section.path.rpartition(" > ")[2]
        body = text[section.body_start : section.end]
        for start, end in paragraphs(body):
            line = " ".join(body[start:end].split())
            if SHORTEST <= len(line) <= LONGEST and not line.startswith(("#", "`")):
                numbers[heading] += 1
                found[f"{heading} {numbers[heading]}"] = line
    return found


def about(question: KbQuestion, documents: dict[str, str]) -> KbQuestion | None:
    """Return the question with the document that has its paragraph; None if no document has it."""
    if question.paragraph is None:
        return question
    wanted = " ".join(question.paragraph.split())
    of = [line for line in documents.values() if wanted in line or line in wanted]
    return replace(question, paragraph=max(of, key=len)) if of else None


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__)
        return 2
    settings = load_settings(retrieval_strategy=sys.argv[3] if len(sys.argv) > 3 else "BRIDGE_HYBRID")
    documents = short_documents(Path(sys.argv[1]).read_text("utf-8"))
    questions = [found for one in load_questions(Path(sys.argv[2])) if (found := about(one, documents))]

    def make() -> Embedder:
        return create_embedder(settings.embedding_model_name, settings)

    document = Document("kb", "kb", "\n\n".join(f"## {heading}\n\n{line}" for heading, line in documents.items()))
    pipeline = last(growing_pipeline(chunk_document(document), "es", settings, make))
    figures = evaluate_kb(pipeline, document, questions, settings.kb_min_evidence)
    print(json.dumps({"documents": len(documents), "walk": pipeline.index.graph is not None, **figures}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
