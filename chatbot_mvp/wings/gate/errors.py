"""Errors of the gate, which compares today's scores with those of a baseline file."""

from __future__ import annotations

from chatbot_mvp.errors.base import ChatbotError


class GateError(ChatbotError):
    exit_code = 2
    texts = {
        "baseline_unreadable": "The baseline {path!r} cannot be read: {reason}. Restore the file, or write a new one "
        "with: chatbot-mvp gate --save-baseline {path}",
        "baseline_questions_differ": "The baseline {path!r} does not have the same questions: {only_baseline} only in "
        "the baseline ({removed}), {only_today} only today ({added}), {count_changed} with another text or reference "
        "({changed}). Save a new baseline, or pair the common questions with --common-only.",
        "baseline_content_differs": "The baseline {path!r} was measured on other content: {what} changed since "
        "({baseline} against {today}). Save a new baseline, or accept the changed content with --common-only.",
        "gate_source_missing": "The gate does not know what to measure: {found}. Give --kb with --questions, "
        "--dataset, or --run; a baseline that was saved with them is enough.",
    }
