"""Errors of a tune: a search for the best configuration."""

from __future__ import annotations

from chatbot_mvp.errors.base import ChatbotError
from chatbot_mvp.errors.runs import RunStopped


class TuneError(ChatbotError):
    exit_code = 2
    texts = {
        "tune_questions_missing": "The knowledge base {kb_id!r} has no questions to tune with. Name a question set or "
        "a JSONL file with --questions (sets: {legal}), or propose questions with: chatbot-mvp kb questions {kb_id} "
        "--out questions.jsonl",
        "tune_too_few_questions": "A tune of {name!r} needs at least {needed} questions with an expected passage, and "
        "has {scored} of {total}. Add questions whose paragraph stands in the text, or judgements (qrels).",
        "tune_space_unreadable": "The space {path!r} cannot be read: {reason}. It is a TOML or JSON file of settings "
        'with lists of values, as in: retrieval_strategy = ["HYBRID", "BRIDGE_HYBRID"]',
        "tune_space_empty": "There is no configuration to try: {found}. Name values that differ from the settings in "
        "effect in the file of --space; configurations that ask a model also need --with-model and --budget.",
        "tune_option_invalid": "The option {name} cannot be {found!r}: {reason}. Start again with another value.",
        "tune_needs_model": "Configurations with a model were asked for, and the provider {provider!r} has none. "
        "Configure a provider with a model in Admin or in .env, or leave out --with-model.",
        "tune_needs_budget": "The tune would send requests to {what}, and has no budget for them. Add --with-model "
        "and --budget USD; 0 allows requests that cost nothing.",
        "tune_not_found": "There is no tune {tune_id!r}. List all tunes with: chatbot-mvp tune list",
        "tune_not_finished": "The tune {tune_id!r} has no result yet. Continue it with: chatbot-mvp tune resume "
        "{tune_id}",
        "tune_already_finished": "The tune {tune_id!r} is finished. Show its result with: chatbot-mvp tune show "
        "{tune_id}",
        "tune_mismatch": "The tune {tune_id!r} cannot be continued: {difference}. Figures of both would not be "
        "comparable; start the tune again.",
        "tune_nothing_to_apply": "The tune {tune_id!r} recommends no change ({verdict}), so that there is nothing to "
        "apply. Keep the configuration, or name one of its configurations with --config.",
        "tune_not_applicable": "The configuration of the tune {tune_id!r} cannot be applied: {reason}. Change that, "
        "or start the tune again under today's settings.",
        "tune_nothing_to_undo": "The settings in {path!r} hold no applied tune to undo. Settings that were changed "
        "otherwise are reset in Admin.",
    }


class TuneUnreadable(TuneError):
    texts = {"tune_unreadable": "The files of the tune {tune_id!r} cannot be read: {reason}. Start the tune again."}


class TuneStoppedEarly(ChatbotError):
    texts = {
        "tune_stopped_early": "The tune {tune_id!r} ended before it was done: {reason}. What was measured is kept; "
        "continue with: chatbot-mvp tune resume {tune_id}",
    }


class TuneStopped(RunStopped):
    texts = {
        "tune_stopped": "The tune {run_id!r} was stopped; what was measured is kept. Continue with: chatbot-mvp tune "
        "resume {run_id}",
    }
