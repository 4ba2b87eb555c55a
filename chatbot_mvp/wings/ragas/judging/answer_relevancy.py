"""ResponseRelevancy: compare questions generated from the response alone with the question that was asked."""

from __future__ import annotations

from chatbot_mvp.prompting.fence import from_data
from chatbot_mvp.wings.ragas.judging.formulas import response_relevancy
from chatbot_mvp.wings.ragas.judging.model import NotScored
from chatbot_mvp.wings.ragas.judging.replies import GeneratedQuestion
from chatbot_mvp.wings.ragas.judging.session import Session

_TEMPERATURE = 0.3
"""Temperature that the ragas package uses for several replies to one prompt."""


def relevancy(session: Session) -> float | None:
    """Score a row. Questions that the judge fails to generate are left out, as in the package; not scored if all fail.

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
