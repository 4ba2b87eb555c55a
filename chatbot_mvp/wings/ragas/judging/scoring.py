"""The metrics: those that a judge scores, then those by ids, words or vectors.

The latter measure something else, so their names differ.
"""

from __future__ import annotations

from chatbot_mvp.metrics.answers.lexical_support import MIN_SUPPORT, sentence_support
from chatbot_mvp.prompting.fence import from_data
from chatbot_mvp.wings.ragas.judging.formulas import (
    context_precision,
    context_recall,
    context_relevance,
    faithfulness,
    id_based_context_precision,
    id_based_context_recall,
    irrelevant_at_sight,
    response_relevancy,
)
from chatbot_mvp.wings.ragas.judging.model import NotScored
from chatbot_mvp.wings.ragas.judging.package_files import PackagePrompt
from chatbot_mvp.wings.ragas.judging.replies import (
    Classifications,
    GeneratedQuestion,
    JudgedStatements,
    NumberedVerdicts,
    Rating,
    Statements,
    Usefulness,
)
from chatbot_mvp.wings.ragas.judging.session import Session
from chatbot_mvp.wings.ragas.judging.templates import filled, rating_of

_VERDICTS = ("faithfulness", "verdicts")
_VERDICT_TOKENS = 80
"""Tokens allowed for one verdict with its reason."""
_TEMPERATURE = 0.3
"""Temperature that the ragas package uses for several replies to one prompt."""
_PROMPTS = ("first", "second")


def faithful(session: Session) -> float | None:
    """Faithfulness: split the response into statements, and judge each by the passages.

    Without passages no statement can follow from them, so the score is 0.0 without asking.

    Raises:
        NotScored: the response has no statements, or a reply could not be read.
    """
    said = session.ask(("faithfulness", "statements"), Statements, question=session.question, answer=session.response)
    statements = [" ".join(from_data(statement).split()) for statement in said.statements if statement.strip()]
    if session.cut:
        # A cut reply may have repeated itself, so count each statement once.
        statements = list(dict.fromkeys(statements))
    session.detail["statements"] = statements
    if not statements:
        raise NotScored("no_statements", "the response states nothing that could be checked")
    if not session.context.strip():
        session.detail["verdicts"] = [{"reason": "", "verdict": 0} for _ in statements]
        return 0.0
    of_package = isinstance(session.prompts.of[_VERDICTS], PackagePrompt)
    reply: type[JudgedStatements | NumberedVerdicts] = JudgedStatements if of_package else NumberedVerdicts
    judged = session.ask(
        _VERDICTS,
        reply,
        check=lambda value: value.problem(len(statements)),
        max_tokens=_VERDICT_TOKENS * len(statements),
        context=session.context,
        statements=statements,
    )
    verdicts = judged.in_order()
    session.detail["verdicts"] = [{"reason": one.reason, "verdict": one.verdict} for one in verdicts]
    return faithfulness([one.verdict for one in verdicts])


def precision_without_reference(session: Session) -> float | None:
    """LLMContextPrecision: judge whether each ranked passage was useful for the system's own response."""
    return _precision(session, session.response, "without_reference")


def precision_with_reference(session: Session) -> float | None:
    """LLMContextPrecision: judge whether each ranked passage was useful for the reference answer."""
    return _precision(session, session.reference, "with_reference")


def _precision(session: Session, answer: str, variant: str) -> float | None:
    prompt = session.prompts.key_of("context_precision", variant, "verdict")
    judged = session.detail["verdicts"] = []
    for context in session.contexts:
        if not context.strip():
            judged.append({"reason": "", "verdict": 0})
            continue
        said = session.ask(prompt, Usefulness, question=session.question, answer=answer, context=context)
        judged.append(said.model_dump())
    return context_precision([verdict["verdict"] for verdict in judged])


def recall(session: Session) -> float | None:
    """LLMContextRecall: judge how much of the reference answer the passages support.

    0.0 without a request if nothing was retrieved, since a judge would use its own knowledge.
    """
    if not session.context.strip():
        session.detail["classifications"] = []
        return 0.0
    said = session.ask(
        ("context_recall", "classification"),
        Classifications,
        check=lambda value: "" if value.classifications else "the reference has at least one statement",
        question=session.question,
        context=session.context,
        answer=session.reference,
    )
    session.detail["classifications"] = [
        {**one.model_dump(), "statement": from_data(one.statement)} for one in said.classifications
    ]
    return context_recall([one.attributed for one in said.classifications])


def relevancy(session: Session) -> float | None:
    """ResponseRelevancy: compare questions generated from the response alone with the question that was asked.

    Questions that the judge fails to generate are left out, as in the package; not scored if all fail.

    Raises:
        NotScored: no question could be generated.
    """
    assert session.embedder is not None, "score_row looks for it"
    options = session.options
    made: list[GeneratedQuestion] = []
    failed: NotScored | None = None
    for number in range(options.strictness):
        try:
            made.append(
                session.ask(
                    ("answer_relevancy", "question"),
                    GeneratedQuestion,
                    check=lambda value: "" if value.question.strip() else "question: it is empty",
                    temperature=max(_TEMPERATURE, options.temperature),
                    seed=1 + options.repeat * options.strictness + number,
                    answer=session.response,
                )
            )
        except NotScored as error:
            failed = error
    questions = [from_data(one.question.strip()) for one in made]
    session.detail["questions"] = [
        {"question": question, "noncommittal": one.noncommittal} for question, one in zip(questions, made, strict=True)
    ]
    if failed is not None and not made:
        raise failed
    # Embed all of them as queries, so that equal questions get equal vectors.
    vectors = session.embedder.embed([session.question, *questions], "query")
    return response_relevancy(vectors[0], vectors[1:], [one.noncommittal for one in made])


def relevance(session: Session) -> float | None:
    """ContextRelevance (NVIDIA): two prompts rate all passages together from 0 to 2.

    A rating that fails is left out; not scored if both fail.

    Raises:
        NotScored: neither rating could be read.
    """
    session.detail["ratings"] = []
    if irrelevant_at_sight(session.question, session.contexts):
        return 0.0
    ratings: list[int | None] = session.detail["ratings"]
    failed: NotScored | None = None
    for prompt in _PROMPTS:
        try:
            ratings.append(_rating(session, prompt))
        except NotScored as error:
            ratings.append(None)
            failed = error
    if failed is not None and ratings == [None, None]:
        raise failed
    return context_relevance(*ratings)


def _rating(session: Session, prompt: str) -> int:
    """Ask for one rating, 0-2."""
    if template := session.prompts.templates.get(prompt):
        # The package's way: one message, and a number anywhere in the reply.
        text = filled(template, session.question.strip(), "\n".join(session.contexts))
        return session.ask_text(text, rating_of, attempts=session.options.rating_attempts)
    said = session.ask(
        ("context_relevance", prompt),
        Rating,
        attempts=session.options.rating_attempts,
        question=session.question,
        context=session.context,
    )
    return said.rating


def precision_by_ids(session: Session) -> float | None:
    row = session.row
    return id_based_context_precision(row.retrieved_context_ids or (), row.reference_context_ids or ())


def recall_by_ids(session: Session) -> float | None:
    row = session.row
    return id_based_context_recall(row.retrieved_context_ids or (), row.reference_context_ids or ())


def lexical_context_recall(session: Session) -> float | None:
    """Return the share (0-1) of the reference's sentences that the passages support by words (see MIN_SUPPORT)."""
    return _lexical(session, session.reference)


def lexical_faithfulness(session: Session) -> float | None:
    """Return the share (0-1) of the response's sentences that the passages support by words and figures."""
    return _lexical(session, session.response)


def answer_similarity(session: Session) -> float | None:
    """Return the cosine of response and reference."""
    return _cosine(session, session.response, session.reference)


def answer_relevancy(session: Session) -> float | None:
    """Return the cosine of question and response."""
    return _cosine(session, session.question, session.response)


def _lexical(session: Session, text: str) -> float | None:
    support = sentence_support(text, session.contexts, session.prompts.language)
    session.detail["sentences"] = [{"sentence": sentence, "support": round(score, 4)} for sentence, score in support]
    return sum(score >= MIN_SUPPORT for _, score in support) / len(support) if support else None


def _cosine(session: Session, first: str, second: str) -> float | None:
    assert session.embedder is not None, "score_row looks for it"
    vectors = session.embedder.embed([first, second], "query")
    return response_relevancy(vectors[0], vectors[1:], [0])
