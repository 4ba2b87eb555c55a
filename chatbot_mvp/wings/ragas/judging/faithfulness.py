"""Faithfulness: split the response into statements, and judge each by the passages."""

from __future__ import annotations

from chatbot_mvp.prompting.fence import from_data
from chatbot_mvp.wings.ragas.judging.formulas import faithfulness
from chatbot_mvp.wings.ragas.judging.model import NotScored
from chatbot_mvp.wings.ragas.judging.package_files import PackagePrompt
from chatbot_mvp.wings.ragas.judging.replies import JudgedStatements, NumberedVerdicts, Statements
from chatbot_mvp.wings.ragas.judging.session import Session

_VERDICTS = ("faithfulness", "verdicts")
_VERDICT_TOKENS = 80
"""Tokens allowed for one verdict with its reason."""


def faithful(session: Session) -> float | None:
    """Score a row. Without passages no statement can follow from them, so the score is 0.0 without asking.

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
