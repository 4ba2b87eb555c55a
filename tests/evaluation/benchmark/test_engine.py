"""EVAL_ENGINE: its values are the rows of a registry."""

from __future__ import annotations

from typing import get_args

import pytest

from chatbot_mvp.errors import InvalidSetting, UnknownChoice
from chatbot_mvp.evaluation.benchmark.engine import LOCAL, RUN_ENGINES, run_engine
from chatbot_mvp.plugins.finding import names_added
from chatbot_mvp.settings.model import Settings


def test_the_legal_values_are_the_names_of_the_engines(settings: Settings) -> None:
    legal = get_args(Settings.model_fields["eval_engine"].annotation)
    assert legal == tuple(RUN_ENGINES) == (LOCAL.name, *names_added("run_engine"))
    with pytest.raises(InvalidSetting, match=r"EVAL_ENGINE.*local"):
        settings.with_changes(eval_engine="elsewhere")


def test_the_local_engine_is_a_row_as_those_that_are_added(settings: Settings) -> None:
    assert run_engine(settings) is LOCAL
    assert not LOCAL.elsewhere


def test_an_engine_that_cannot_be_loaded_is_named_with_those_that_can(settings: Settings) -> None:
    with pytest.raises(UnknownChoice, match=r"EVAL_ENGINE 'gone'.*local"):
        run_engine(settings.model_copy(update={"eval_engine": "gone"}))


def test_settings_of_this_machine_are_not_taken_over_from_a_recorded_run(settings: Settings) -> None:
    recorded = settings.with_changes(embedding_threads=3, local_threads=4, log_format="jsonl", retrieval_k=7)
    assert settings.with_recorded(recorded.model_dump(mode="json")) == settings.with_changes(retrieval_k=7)
