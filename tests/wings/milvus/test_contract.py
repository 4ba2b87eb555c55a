"""The contract of the indexes, kept by a Milvus server, and what only a server has: credentials, and rows of others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from chatbot_mvp.retrieval.indexes.lexical import LexicalSearch
from chatbot_mvp.wings.milvus import client as milvus
from chatbot_mvp.wings.milvus.client import TERMS, connect
from chatbot_mvp.wings.milvus.errors import MilvusError
from tests.raising import raises
from tests.retrieval.indexes.test_chroma import clustered
from tests.retrieval.indexes.test_contract import *  # noqa: F403 - the contract: its tests run with the fixture below
from tests.retrieval.indexes.test_contract import LIMIT, texts
from tests.waiting import wait_until
from tests.wings.milvus.backend import Milvus

pytestmark = pytest.mark.xdist_group("indexes")  # one worker, because starting a server takes seconds


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Milvus]:
    pytest.importorskip("milvus_lite")
    made = Milvus(tmp_path_factory.mktemp("milvus"))
    yield made
    made.stop()


def test_a_knowledge_base_has_no_rows_left_after_its_deletion(backend: Milvus) -> None:
    chunks, matrix = texts(12, 30), clustered(12, 30)
    terms, vectors = backend.terms(chunks, "gone"), backend.vectors(matrix, "gone")
    connection = connect(backend.process.server)
    assert rows_of(connection, "gone") > 60  # and the vocabulary
    backend.delete(chunks, "gone")
    assert rows_of(connection, "gone") == 0
    # A server that still has the index open says so, rather than that nothing was found.
    with raises("index_rows_missing", match="gone"):
        terms.search("word0", LIMIT)
    with raises("index_rows_missing", match="gone"):
        vectors.search(matrix[:1], LIMIT)


def test_rows_of_versions_that_are_not_kept_are_deleted(backend: Milvus) -> None:
    connection = connect(backend.process.server)
    for number in (16, 17):
        chunks, matrix = texts(number, 30), clustered(number, 30)
        terms, vectors = backend.terms(chunks, "versions"), backend.vectors(matrix, "versions")
    both = rows_of(connection, "versions")
    backend.keep("versions", terms, vectors)
    assert 30 < rows_of(connection, "versions") < both - 30
    assert terms.search("word0", LIMIT)
    assert terms.document_frequency("word0") > 0


def rows_of(connection: milvus.MilvusConnection, owner: str) -> int:
    counts = [
        connection.client.query(name, filter=f'owner == "{owner}"', output_fields=["count(*)"])[0]["count(*)"]
        for name in (TERMS, "chatbot_mvp_vectors_1_96")
    ]
    return sum(counts)


@pytest.mark.parametrize("token", ["", "root:wrong-very-secret"])
def test_wrong_credentials_are_refused_with_the_setting_to_check_and_without_the_secret(
    backend: Milvus, token: str
) -> None:
    with raises("index_credentials_refused") as raised:
        connect(replace(backend.process.server, token=token))
    assert backend.process.address in str(raised.value)
    assert "MILVUS_TOKEN" in str(raised.value)
    assert "very-secret" not in str(raised.value) + repr(backend.process.server)


@pytest.mark.slow
def test_a_server_that_is_away_is_named_and_after_its_return_the_same_index_answers(backend: Milvus) -> None:
    chunks, matrix = texts(13, 30), clustered(13, 30)
    terms, vectors = backend.terms(chunks, "away"), backend.vectors(matrix, "away")
    expected = terms.search("word0", LIMIT)
    backend.process.kill()
    for search in (lambda: terms.search("word0", LIMIT), lambda: vectors.search(matrix[:1], LIMIT)):
        with raises("index_engine_unavailable") as raised:
            search()
        assert backend.process.address in str(raised.value)
        assert "INDEX_ENGINE=local" in str(raised.value)
    backend.process.start()
    wait_until(lambda: _answers(terms), 20, "the index", 0.2)
    assert terms.search("word0", LIMIT) == expected


def _answers(terms: LexicalSearch) -> bool:
    try:
        return bool(terms.search("word0", 1))
    except MilvusError as error:
        if error.code != "index_engine_unavailable":
            raise
        return False
