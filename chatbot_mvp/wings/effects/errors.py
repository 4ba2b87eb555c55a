"""Errors of effects: what a change of documents does to the answers."""

from __future__ import annotations

from chatbot_mvp.errors.base import ChatbotError
from chatbot_mvp.errors.runs import RunStopped


class EffectsError(ChatbotError):
    exit_code = 2
    texts = {
        "effects_no_questions": "There is nothing to ask the versions of the knowledge base {kb_id!r}: it has no "
        "question set with kept questions, and no chat about it is kept. Name a JSONL file or a question set with "
        "--questions (sets: {legal}).",
        "effects_no_chat": "No questions of a chat about the knowledge base {kb_id!r} are kept. Name a JSONL file or a "
        "question set with --questions instead.",
        "effects_same_version": "The knowledge base {kb_id!r} would be compared with itself: both sides are the "
        "version {version!r}. Name another one with --from or --to, or stage a change first.",
        "effects_not_found": "The knowledge base {kb_id!r} has no readable comparison {effects_id!r}. Compare the "
        "versions again with: chatbot-mvp kb effects {kb_id}",
        "effects_not_finished": "The comparison {effects_id!r} of the knowledge base {kb_id!r} has {done} of {total} "
        "answers. Continue it with the same command or on the page.",
        "effects_draft_changed": "The draft of the knowledge base {kb_id!r} was not published: {found}. Compare the "
        "versions again with: chatbot-mvp kb effects {kb_id} --publish",
    }


class EffectsStoppedEarly(ChatbotError):
    texts = {
        "effects_stopped_early": "The comparison {effects_id!r} ended before it was done: {reason}. The answers so far "
        "are kept; continue with the same command or on the page.",
    }


class EffectsStopped(RunStopped):
    texts = {
        "effects_stopped": "The comparison {run_id!r} was stopped; the answers so far are kept. Continue with the same "
        "command or on the page.",
    }
