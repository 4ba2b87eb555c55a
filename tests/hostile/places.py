"""Every place of a prompt in which text of documents, questions, conversations, data sets or models stands."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from chatbot_mvp.chat.prompting import (
    grounded_messages,
    open_messages,
    relevance_messages,
    rewrite_messages,
)
from chatbot_mvp.datasets import Query
from chatbot_mvp.evaluation.benchmark.generation import generation_request
from chatbot_mvp.evaluation.benchmark.judgement import judge_messages
from chatbot_mvp.evaluation.kb.proposals import ModelProposer
from chatbot_mvp.llm.base import ChatRequest, Message
from chatbot_mvp.llm.language_model import LanguageModel
from chatbot_mvp.retrieval.indexes.enrichment import ContextCache, enrichment_prompts
from chatbot_mvp.retrieval.indexes.questions import question_prompts
from chatbot_mvp.retrieval.reranker import RerankFailed
from chatbot_mvp.retrieval.stages.asking import Asked
from chatbot_mvp.retrieval.stages.llm_expansion import expansion_prompt
from chatbot_mvp.retrieval.stages.rerankers import LlmReranker
from chatbot_mvp.retrieval.trace import Hit
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Chunk, PastTurn
from chatbot_mvp.wings.ragas.errors import PromptsError
from chatbot_mvp.wings.ragas.judging import adapt_prompts, own_prompts
from chatbot_mvp.wings.ragas.judging.prompts import load_prompts
from tests.fakes import FakeChatModel, FakeLanguageModel

Prompt = tuple[Message, ...]
Place = Callable[[str, str], Sequence[Prompt]]
"""(attack, language) -> the prompts that hold the attack there."""

QUESTION = "¿Cuántos días hay?"


def chunk(text: str = "Hay 23 días.", section: str = "Vacaciones", number: int = 0) -> Chunk:
    return Chunk(f"c{number}", "d", section, text, 0, len(text))


def _asked(ask: Callable[[FakeLanguageModel], object]) -> list[Prompt]:
    """The prompts that a stage of retrieval sends: one message each."""
    model = FakeLanguageModel(lambda prompt: "7")
    ask(model)
    assert model.prompts
    return [(Message("user", prompt),) for prompt in model.prompts]


def _rerank(query: str, passage: Chunk, language: str) -> list[Prompt]:
    def ask(model: FakeLanguageModel) -> None:
        LlmReranker(model.model, language).rerank(query, [Hit(passage, 1.0, {})])

    try:
        return _asked(ask)
    except RerankFailed as error:
        raise AssertionError(error) from error


def _proposed(chunks: Sequence[Chunk], found: Sequence[Chunk], question: str, language: str) -> list[Prompt]:
    """The prompts of a proposal, and of the check of a question that the model calls unanswerable."""
    proposal = f'{{"questions": [], "unanswerable": [{json.dumps(question)}]}}'
    model = FakeChatModel(lambda request: proposal if "unanswerable" in request.messages[0].content else "{}")
    ModelProposer(model, chunks, language, lambda _: found).run(1, 1, lambda progress: None)
    return [request.messages for request in model.requests]


def _adapted(attack: str, folder: Path) -> list[Prompt]:
    """The prompts with which a judge translates a prompt file whose examples hold the attack."""
    [source] = [prompt for prompt in own_prompts("en") if prompt.file.key == ("faithfulness", "statements")]
    given, reply = source.examples[0]
    replace(source, language="english", examples=(({**given, "question": attack}, reply),)).save(folder)

    def translated(request: ChatRequest) -> str:
        return json.dumps({"texts": ["x"] * request.messages[-1].content.count('", "')})

    model = FakeChatModel(translated)
    with suppress(PromptsError):
        adapt_prompts("fr", folder, model, needed={source.file.key})
    return [model.requests[0].messages]


def places(settings: Settings, folder: Path) -> dict[str, Place]:
    """Name -> place. Contexts and expansions are cached in ``folder``."""
    plain, numbers, cache = chunk(), count(), ContextCache(folder / "contexts.sqlite")

    def expansion(attack: str, language: str) -> list[Prompt]:
        def ask(model: FakeLanguageModel) -> None:
            # Another model each time, so that no reply comes from the cache.
            named = LanguageModel(f"fake-{next(numbers)}", model.ask)
            Asked(named, cache).reply(expansion_prompt(attack, language))

        return _asked(ask)

    def written(prompts: Iterable[str]) -> list[Prompt]:
        return [(Message("user", prompt),) for prompt in prompts]

    def contexts(chunks: Sequence[Chunk], language: str) -> list[Prompt]:
        return written(enrichment_prompts(chunks, language))

    def generated(query: Query, passages: Sequence[Chunk], language: str) -> list[Prompt]:
        return [generation_request(query, passages, language, settings).messages]

    def of_judges(field: str) -> Place:
        def prompts(attack: str, language: str) -> list[Prompt]:
            harmless = {"question": "q", "answer": "a", "context": "c", "statements": "1. s"}
            return [
                prompt.messages(**{**harmless, field: attack})
                for prompt in load_prompts(language).of.values()
                if f"{{{field}}}" in prompt.input
            ]

        return prompts

    found: dict[str, Place] = {
        "answer: passage": lambda a, lang: [grounded_messages(QUESTION, [chunk(a), plain], lang)],
        "answer: heading or file name": lambda a, lang: [grounded_messages(QUESTION, [chunk(section=a)], lang)],
        "answer: question": lambda a, lang: [grounded_messages(a, [plain], lang)],
        "answer: earlier question": lambda a, lang: [grounded_messages(QUESTION, [plain], lang, [PastTurn(a, "x")])],
        "answer: earlier answer": lambda a, lang: [grounded_messages(QUESTION, [plain], lang, [PastTurn("x", a)])],
        "general: question": lambda a, lang: [open_messages(a, lang)],
        "general: conversation": lambda a, lang: [open_messages(QUESTION, lang, [PastTurn(a, a)])],
        "doubt: passage": lambda a, lang: [relevance_messages(QUESTION, [chunk(a)], lang)],
        "doubt: heading or file name": lambda a, lang: [relevance_messages(QUESTION, [chunk(section=a)], lang)],
        "doubt: question": lambda a, lang: [relevance_messages(a, [plain], lang)],
        "follow-up: question": lambda a, lang: [rewrite_messages(a, lang, [PastTurn("x", "y")])],
        "follow-up: conversation": lambda a, lang: [rewrite_messages(QUESTION, lang, [PastTurn(a, a)])],
        "expansion: question": expansion,
        "context: document": lambda a, lang: contexts(
            [chunk(a), Chunk("c1", "d", "S", "Más.", len(a), len(a) + 4)], lang
        ),
        "context: heading": lambda a, lang: contexts([chunk(section=a), Chunk("c1", "d", "S", "Más.", 12, 16)], lang),
        "context: lone passage": lambda a, lang: contexts([chunk(a)], lang),
        "context: title": lambda a, lang: contexts([chunk(section=a)], lang),
        "rerank: question": lambda a, lang: _rerank(a, plain, lang),
        "rerank: passage": lambda a, lang: _rerank(QUESTION, chunk(a), lang),
        "rerank: heading": lambda a, lang: _rerank(QUESTION, chunk(section=a), lang),
        "run: question of the data set": lambda a, lang: generated(Query("q", a), [plain], lang),
        "run: yes or no question": lambda a, lang: generated(Query("q", a, answer_type="label"), [plain], lang),
        "run: passage of the data set": lambda a, lang: generated(Query("q", QUESTION), [chunk(a)], lang),
        "run: title of the data set": lambda a, lang: generated(Query("q", QUESTION), [chunk(section=a)], lang),
        "proposal: passage": lambda a, lang: _proposed([chunk(a)], [], QUESTION, lang),
        "proposal: heading": lambda a, lang: _proposed([chunk(section=a)], [], QUESTION, lang),
        "proposal: question of a model": lambda a, lang: _proposed([plain], [plain], a, lang),
        "proposal: passage of the check": lambda a, lang: _proposed([plain], [chunk(a)], QUESTION, lang),
    }
    for metric in ("faithfulness", "context_utilization"):

        def judged(name: str, metric: str = metric) -> Place:
            def prompts(attack: str, language: str) -> list[Prompt]:
                texts: dict[str, Any] = {"question": QUESTION, "answer": "23", "passage": "Hay 23 días.", name: attack}
                return [judge_messages(metric, texts["question"], texts["answer"], [chunk(texts["passage"])], language)]

            return prompts

        found |= {f"judge of runs, {metric}: {name}": judged(name) for name in ("question", "answer", "passage")}
    found["questions of a passage: passage"] = lambda a, lang: written(question_prompts([chunk(a)], lang, 3))
    found["questions of a passage: heading"] = lambda a, lang: written(question_prompts([chunk(section=a)], lang, 3))
    found["adaptation: example of a prompt file"] = lambda a, lang: _adapted(a, folder / f"adapted-{next(numbers)}")
    found |= {
        f"judges of answers: {field}": of_judges(field) for field in ("question", "answer", "context", "statements")
    }
    return found
