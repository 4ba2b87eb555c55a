"""Questions that people really ask about a knowledge base: search proposes where each is answered, a person decides."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from chatbot_mvp.chat.citations import Source, quoted_sources
from chatbot_mvp.chat.grounding import grounding_of
from chatbot_mvp.chat.nearest import MAX_PASSAGES, find_nearest
from chatbot_mvp.chat.sessions import ChatSessions
from chatbot_mvp.evaluation.kb.question_sets import QuestionSets
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.evaluation.kb.sets import QuestionSet, SetQuestion, new_question_id
from chatbot_mvp.knowledge_base.knowledge_bases import KnowledgeBases
from chatbot_mvp.knowledge_base.places import paragraphs_around
from chatbot_mvp.llm.base import ChatRequest
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.llm.extractive.kinds import last_clause, plain_of
from chatbot_mvp.llm.extractive.values import VALUES, value_asked
from chatbot_mvp.metrics.decisions import ANSWERABLE
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.text import fold
from chatbot_mvp.types import Chunk

ENOUGH_OWN = 10
"""Questions of one's own from which a share says something."""

MOST = 50
"""Questions taken at a time."""
_SHORTEST = 2  # words
_LONGEST = 500  # characters, as in a question set
_MARK = re.compile(r"^\s*(?:[-*+•–—]+|\(?\d{1,3}[.):]|[a-z]\))\s+")
_SPEAKER = re.compile(
    r"^\s*(?:\[[^\]\n]{1,40}\]|\d{1,2}:\d\d(?::\d\d)?)?\s*(?:[A-ZÁÉÍÓÚÑ][\wáéíóúñ.]*(?: [A-ZÁÉÍÓÚÑ]\w*)?:\s+)?"
)
_SIGNS = re.compile(r"\w+|\W")
_END = re.compile(r"(?<=\?)\s+")

_KINDS = ("money", "duration", "deadline", "percentage", "temperature", "phone", "email")
"""Kinds of values that a right answer repeats as they stand, in whatever words it is given."""
_OF_NUMBERS = ".,%€$£"


@dataclass(frozen=True, slots=True)
class Proposed:
    """A question, and where search thinks that it is answered."""

    question: str
    passages: tuple[Source, ...]
    """Distinct paragraphs, the likeliest first; ``chunk.text`` is the paragraph. Empty if nothing was found."""

    @property
    def shuffled(self) -> tuple[Source, ...]:
        """The passages in an order that depends on their texts alone, so that it does not say which one is likeliest.

        A person who sees what search puts first tends to confirm it, and would then measure search by itself.
        """
        return tuple(sorted(self.passages, key=lambda one: hashlib.sha256(one.chunk.text.encode()).digest()))


class OwnQuestions:
    """Questions of people about all knowledge bases. Safe to share between sessions."""

    def __init__(self, kbs: KnowledgeBases, sets: QuestionSets, chat: ChatSessions) -> None:
        self._kbs = kbs
        self._sets = sets
        self._chat = chat

    @performs(Action.READ)
    def own_set(self, kb_id: str) -> QuestionSet | None:
        """Return the newest set that no rule and no model wrote a question of; None if there is none."""
        sets = self._sets.sets(kb_id)
        return next((one for one in sets if one.kept and not one.proposed), None)

    @performs(Action.READ)
    def asked_in_chat(self, kb_id: str, session: str, most: int = 10) -> list[str]:
        """Return what a session has asked a knowledge base in the chat and no set has yet, the latest ``most``."""
        known = {_folded(each.question.question) for one in self._sets.sets(kb_id) for each in one.questions}
        asked: dict[str, str] = {}
        for conversation in reversed(self._chat.conversations(session, kb_id)):
            for turn in conversation.turns:
                if (key := _folded(turn.question)) not in known:
                    asked.setdefault(key, " ".join(turn.question.split()))
        return list(asked.values())[-most:]

    @performs(Action.CHANGE_QUESTIONS)
    def find(self, kb_id: str, questions: Sequence[str]) -> tuple[Proposed, ...]:
        """Search each question as the chat does, and return the paragraphs that may answer it. No model is asked.

        Args:
            questions: at most ``MOST``; the rest is left out.

        Raises:
            KbNotFound, KbUnreadable
        """
        pipeline = self._kbs.pipeline(kb_id)
        return tuple(self._proposed(pipeline, question) for question in questions[:MOST])

    @performs(Action.READ)
    def passage_with(self, kb_id: str, words: str) -> Source | None:
        """Return the paragraph that has these words, for an answer that search did not show; None if none has.

        Args:
            words: copied from a page; case, white space and the marks of Markdown may differ. Of several paragraphs the
                first is returned.

        Raises:
            KbNotFound, KbUnreadable
        """
        plain = re.sub(r"[*`\\]+", "", words.replace("|", " "))
        parts = [map(re.escape, _SIGNS.findall(word)) for word in plain.split()]
        if not parts:
            return None
        wanted = re.compile(r"[\s*_`|\\]+".join(map(r"[*_`\\]*".join, parts)), re.IGNORECASE)
        for chunk in self._kbs.contents(kb_id).chunks:
            if found := wanted.search(chunk.text):
                return _paragraph(Source(0, chunk, ((chunk.start + found.start(), chunk.start + found.end()),)))
        return None

    @performs(Action.CHANGE_QUESTIONS)
    def keep(self, kb_id: str, name: str, decided: Mapping[str, Source | None]) -> QuestionSet:
        """Save questions with the passage that a person confirmed, in the set of one's own questions.

        Args:
            name: of the set, if there is none yet.
            decided: question -> its passage; None if the knowledge base does not answer it. A question that is already
                there gets the new answer.

        Raises:
            KbNotFound, KbUnreadable, QuestionSetNotFound
        """
        base = self.own_set(kb_id) or self._sets.empty_set(kb_id, name)
        new = {_folded(question): _labelled(question, source) for question, source in decided.items()}
        known = [new.pop(_folded(one.question.question), one) for one in base.questions]
        return self._sets.save_joined(base, replace(base, questions=(*known, *new.values())))[0]

    def _proposed(self, pipeline: Pipeline, question: str) -> Proposed:
        [trace] = pipeline.retrieve([question])
        grounding = grounding_of(trace, pipeline.index, [hit.chunk for hit in trace.chunks_final], None)
        quotes = DemoModel().complete(ChatRequest((), grounding=grounding)).quotes or ()
        found = [_paragraph(source) for source in quoted_sources(quotes, grounding.passages)]
        found += find_nearest(question, trace, pipeline.index, None).passages
        apart: list[Source] = []
        for source in found:
            if not any(_overlap(source.chunk, other.chunk) for other in apart):
                apart.append(source)
        return Proposed(question, tuple(apart[:MAX_PASSAGES]))


def _paragraph(source: Source) -> Source:
    """Return the cited paragraphs of a source as a passage of their own."""
    chunk = source.chunk
    if not source.highlights:
        return source
    start, end = paragraphs_around(
        chunk.text, source.highlights[0][0] - chunk.start, source.highlights[-1][1] - chunk.start
    )
    begin = chunk.start + start
    cut = Chunk(chunk.chunk_id, chunk.doc_id, chunk.section, chunk.text[start:end], begin, chunk.start + end)
    return replace(source, chunk=cut)


def _overlap(one: Chunk, other: Chunk) -> bool:
    return one.start < other.end and other.start < one.end


def _labelled(question: str, source: Source | None) -> SetQuestion:
    if source is None:
        # Somebody who asks it about these documents expects to find it there: a subject of theirs, without an answer.
        return SetQuestion(KbQuestion(new_question_id(), question, "near"))
    marked = [
        source.chunk.text[start - source.chunk.start : end - source.chunk.start] for start, end in source.highlights
    ]
    answer = reference_in(question, " ".join(marked) or source.chunk.text)
    return SetQuestion(
        KbQuestion(
            new_question_id(),
            question,
            ANSWERABLE,
            source.chunk.text,
            source.chunk.section or None,
            (answer,) if answer else (),
        )
    )


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def spoken_questions(text: str) -> list[str]:
    """Return the questions of a text, in its order, without repetitions; at most ``MOST``.

    A line is a question, also without question marks. Of a line with several of them, or with other sentences before
    an opening question mark, each question is taken; who said it, and when, is left out.
    """
    found: dict[str, str] = {}
    for line in text.splitlines():
        plain = _SPEAKER.sub("", _MARK.sub("", line))
        for part in _END.split(plain) if "?" in plain else [plain]:
            if "?" in plain and "?" not in part:
                continue  # what is said after the last question
            asked = " ".join(_asked(part).split())
            if len(asked.split()) >= _SHORTEST and len(asked) <= _LONGEST:
                found.setdefault(asked.casefold(), asked)
    return list(found.values())[:MOST]


def _asked(part: str) -> str:
    """Return the question without the sentences before it: "Hola. Me apunté ayer. ¿Cuándo pago?" asks the last one."""
    before, mark, question = part.rpartition("¿")
    if not mark:
        # In English, or without the opening mark, only whole sentences before it can be told apart.
        return re.split(r"(?<=[.!…])\s+", part)[-1] if "?" in part else part
    clause = re.split(r"(?<=[.!?…])\s+", before)[-1]  # "Si me lesiono, ¿puedo parar la cuota?" keeps its condition
    return f"{clause}{mark}{question}" if clause.rstrip().endswith(",") else f"{mark}{question}"


def reference_in(question: str, passage: str) -> str:
    """Return the value that a question asks for as the passage has it, such as "20 euros".

    "" if the question asks for no such value, or if the passage has none or several of them.
    """
    kind = value_asked(plain_of(last_clause(question)))[0]
    folded = fold(passage)
    if kind not in _KINDS or len(folded) != len(passage):
        return ""
    found = set()
    for match in VALUES[kind].given.finditer(folded):
        start, end = match.span()
        while start > 0 and _in_number(passage[start - 1 : start + 1]):
            start -= 1
        while end < len(passage) and _in_number(passage[end - 1 : end + 1]):
            end += 1
        found.add(passage[start:end].strip(" ,.;"))
    return found.pop() if len(found) == 1 else ""


def _in_number(pair: str) -> bool:
    """Return whether two neighbouring characters belong to one number or its sign."""
    return all(one.isdigit() or one in _OF_NUMBERS for one in pair) and any(map(str.isdigit, pair))
