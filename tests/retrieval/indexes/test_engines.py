"""INDEX_ENGINE: its values are the rows of a registry."""

from __future__ import annotations

from typing import get_args

import pytest

from chatbot_mvp.errors import InvalidSetting, UnknownChoice
from chatbot_mvp.plugins.finding import names_added
from chatbot_mvp.retrieval.indexes.engines import INDEX_ENGINES, LOCAL, LocalIndexes, indexes_of
from chatbot_mvp.settings.model import Settings


def test_the_legal_values_are_the_names_of_the_engines(settings: Settings) -> None:
    legal = get_args(Settings.model_fields["index_engine"].annotation)
    assert legal == tuple(INDEX_ENGINES) == (LOCAL.name, *names_added("index_engine"))
    with pytest.raises(InvalidSetting, match=r"INDEX_ENGINE.*local"):
        settings.with_changes(index_engine="elsewhere")


def test_local_indexes_are_a_row_as_those_that_are_added(settings: Settings) -> None:
    assert indexes_of(settings) == LocalIndexes(settings.chroma_dir, settings.chroma_host)
    assert LOCAL.in_files


def test_an_engine_that_cannot_be_loaded_is_named_with_those_that_can(settings: Settings) -> None:
    with pytest.raises(UnknownChoice, match=r"INDEX_ENGINE 'gone'.*local"):
        indexes_of(settings.model_copy(update={"index_engine": "gone"}))
