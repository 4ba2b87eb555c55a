"""Search for follow-up questions, together with the previous question they refer to. Independent of the topic."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from chatbot_mvp.chat.prompting import rewrite_messages
from chatbot_mvp.errors import ConfigurationError, ProviderError
from chatbot_mvp.llm.base import ChatModel, ChatOptions, ChatRequest
from chatbot_mvp.prompting.fence import from_data
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.retrieval.stages.conversation import Conversation
from chatbot_mvp.retrieval.stages.evidence import covered_share
from chatbot_mvp.retrieval.trace import Earlier, RetrievalTrace
from chatbot_mvp.text import fold
from chatbot_mvp.types import PastTurn

_FEW_TERMS = 3
_MAY_FALL = 0.3
"""Evidence that a question that points back may lose with the previous question."""
_OWN_SHARE = 0.5
"""Idf-weighted share (0-1) of the question's own terms that the passages found with the previous question must have."""
_MAX_CHARS = 400
_QUESTION, _ANSWER = 0.3, 0.15
"""Weights of the question before and of its answer in the ranking; those of BM25 in the publication of MTRAG."""
_FADING = 0.5
"""Factor of each turn further back."""
_TURNS = 3
_ANSWER_CHARS = 2_000
_REPLY_TOKENS = 80

_CONNECTORS = frozenset("y e o pero entonces ademas tambien and or but so then also".split())
_ASKING = frozenset(
    """quien quienes cuanto cuanta cuantos cuantas cuando donde adonde como cual cuales que who what when where how
    which why""".split()
)
_POINTERS = frozenset(
    """ella ello ellos ellas eso esos esas ese esto aquello aquel aquella alli ahi it they them those these its their
    there ones he she him her""".split()
)

_DEMONSTRATIVE = re.compile(
    r"\b(?:es[aeo]s?|aquel(?:la|los|las)?|dich[oa]s?|mism[oa]s?|that|this|these|those|such|same) (\w+)", re.I
)
_TIME = frozenset("ano mes semana dia tarde noche manana verano invierno year month week day morning evening".split())
_CLITIC = re.compile(
    r"^(?:y |pero )?(?:(?:a|de|con|en|por|para|desde|hasta) )?"
    r"(?:quien(?:es)?|como|donde|adonde|cuando|cuanto|"
    r"no|se|me) "
    r"(?:(?:se|me|te) )?(?:lo|los|la|las|le|les) (?!que\b)\w+$|"
    r"^(?:y |pero )?(?:que pasa )?si (?:no )?(?:(?:se|me|te) )?(?:lo|los|le|les) \w+"
    r"(?: (?:tarde|pronto|antes|despues|mal|bien|ya|fuera|aqui|alli))?$"
)
"""A question with a pronoun in place of a noun: "quién lo da", "cómo se la pide", "y si lo devuelvo tarde"."""
_OWN_TOPIC = re.compile(
    r"\b(?:el|la|los|las|un|una|unos|unas|the|an?|mi|mis|my|your) (?!(?:que|cual|mas|menos)\b)\w{3,}", re.I
)
"""A noun of its own: such a question needs no other one, unless it points back."""


@dataclass(frozen=True, slots=True)
class Search:
    """The query that was searched for a question, and its results."""

    query: str
    """The question itself, or an extended query for a follow-up."""
    trace: RetrievalTrace
    how: str = ""
    """"previous": the previous question was added; "rewritten": a model rewrote the question; "context": what was said
    before changed the order of the first hits; "": the question was searched alone."""


def find(pipeline: Pipeline, question: str, history: Sequence[PastTurn], rewriter: ChatModel | None = None) -> Search:
    """Search for a question, combined with the previous one if it is a follow-up and the evidence supports that.

    Args:
        history: the conversation so far, oldest first.
        rewriter: a model that may rewrite a follow-up; None to only add the previous question.
    """
    said = earlier_of(history)
    [own] = pipeline.retrieve([question], said)
    alone = Search(question, own, "context" if _moved(own) else "")
    if not history or not leans(question, pipeline) or _changed(own):
        return alone
    candidates = []
    if rewriter is not None and (rewritten := _rewritten(question, history, rewriter, pipeline)):
        candidates.append((rewritten, "rewritten"))
    before = (history[-1].search_query or history[-1].question)[-_MAX_CHARS:]
    before = without_rivals(before, question, pipeline).rstrip("? ")
    candidates.append((f"{before}? {question}".lstrip("? "), "previous"))
    # One or two words reach high evidence as soon as any passage has them, so a question that points back may lose
    # some of it, and one that names nothing ("and how long does it take?") all.
    nothing = _names_nothing(question, pipeline)
    wanted = 0.0 if nothing else (own.evidence or 0.0) - _MAY_FALL
    for query, how in candidates:
        [trace] = pipeline.retrieve([query], said)
        if (
            trace.chunks_final
            and (trace.evidence or 0.0) >= wanted
            and (nothing or _about_it(question, trace, pipeline))
        ):
            return Search(query, trace, how)
    return alone


def earlier_of(history: Sequence[PastTurn]) -> tuple[Earlier, ...]:
    """Return what counts in the ranking of the next question: the last questions and the last answer."""
    recent = history[-_TURNS:]
    questions = [
        Earlier(turn.question, _QUESTION * _FADING ** (len(recent) - number)) for number, turn in enumerate(recent, 1)
    ]
    answers = [Earlier(turn.answer[:_ANSWER_CHARS], _ANSWER) for turn in history[-1:] if turn.answer.strip()]
    return (*questions, *answers)


def leans(question: str, pipeline: Pipeline) -> bool:
    """Return whether a question starts with a connector, has a word that points back, or has at most one term."""
    words = [fold(word.text) for word in pipeline.index.analyzer.words(question)]
    terms = set(pipeline.index.analyzer.terms(question))
    if len(terms) > 2 * _FEW_TERMS:
        return False
    plain = " ".join(words)
    if len(terms) <= _FEW_TERMS and (_POINTERS & set(words[1:]) or points_back(plain)):
        return True
    if words and words[0] in _CONNECTORS:
        return True
    bare = len(words) == len(terms)  # "Virtualization": as in a search box
    return len(terms) <= 1 and not _OWN_TOPIC.search(plain) and not (bare and terms)


def _names_nothing(question: str, pipeline: Pipeline) -> bool:
    """Return whether a question only asks on about what was said before: "and how long does it take?"."""
    words = [fold(word.text) for word in pipeline.index.analyzer.words(question)]
    few = len(set(pipeline.index.analyzer.terms(question))) <= 1
    asks = few and words[0] in _CONNECTORS and not _ASKING.isdisjoint(words[1:3])
    return asks and not _OWN_TOPIC.search(" ".join(words))


def points_back(plain: str) -> bool:
    """Return whether the words of a question, folded, point back at something: "that person", "quién lo da"."""
    shown = _DEMONSTRATIVE.search(plain)
    return bool(_CLITIC.search(plain) or (shown and shown[1] not in _TIME))


def without_rivals(before: str, question: str, pipeline: Pipeline) -> str:
    """Return the previous question without what ``question`` names in its place.

    After "¿Qué horario tiene Finanzas?", "¿Y Ventas?" names another department and "¿Y los uniformes?" another topic of
    the same one. Two words of headings are rivals if no section is under both: "Finanzas" and "Ventas", "horario" and
    "uniformes", but not "Finanzas" and "uniformes".
    """
    kb, analyzer = pipeline.index.kb, pipeline.index.analyzer
    if kb is None:  # the titles of a data set stand beside each other, not under one another
        return before
    sections = kb.sections_of_term
    named = [sections[term] for term in set(analyzer.terms(question)) if term in sections]

    def unless_rival(found: re.Match[str]) -> str:
        under = frozenset[str]().union(*(sections.get(term, ()) for term in analyzer.terms(found[0])))
        return "" if under and named and all(under.isdisjoint(other) for other in named) else found[0]

    return " ".join(re.sub(r"\w+", unless_rival, before).split())


def _moved(trace: RetrievalTrace) -> bool:
    return any(record.stage == Conversation.name and record.notes["moved"] for record in trace.records)


def _changed(trace: RetrievalTrace) -> bool:
    """Return whether the documents that a question finds are elsewhere than what was said before."""
    return any(record.stage == Conversation.name and not record.notes["share"] for record in trace.records)


def _about_it(question: str, trace: RetrievalTrace, pipeline: Pipeline) -> bool:
    """Return whether the passages are about the question itself, and not only about the previous one."""
    terms, kb = set(pipeline.index.analyzer.terms(question)), pipeline.index.kb
    if named := {term for term in terms if kb is not None and term in kb.sections_of_term}:
        # It names a section: the first passage is of that one, or of another.
        return named <= set(pipeline.index.analyzer.terms(trace.chunks_final[0].chunk.index_text))
    if points_back(" ".join(fold(word.text) for word in pipeline.index.analyzer.words(question))):
        return True  # it names nothing itself
    share, _ = covered_share(question, trace.chunks_final, pipeline.index)
    return share >= _OWN_SHARE or all(pipeline.index.lexical.document_frequency(term) for term in terms)


def _rewritten(question: str, history: Sequence[PastTurn], model: ChatModel, pipeline: Pipeline) -> str:
    """Ask the model to rewrite the question as one line; "" if it fails or returns nothing."""
    messages = rewrite_messages(question, pipeline.index.analyzer.language_of(question), history)
    try:
        reply = model.complete(ChatRequest(messages, ChatOptions(max_tokens=_REPLY_TOKENS))).text
    except (ProviderError, ConfigurationError):
        return ""
    lines = [line.strip() for line in from_data(reply).splitlines() if line.strip()]
    return lines[0][:_MAX_CHARS] if lines else ""
