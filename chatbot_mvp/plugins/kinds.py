"""The kinds of things that can be added, and the type of each."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

VERSION = 1
"""Version of the hooks. A change that breaks what was added for this version raises it."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of things that can be added."""

    name: str
    row_type: str
    """"module:class" of what an entry point of this kind names."""
    summary: str
    """What one adds, for people."""
    registry: str = ""
    """"module:attribute" of the ``Registry`` with the rows of the program and the added ones; "" if there is none."""

    @property
    def group(self) -> str:
        """Group of its entry points."""
        return f"chatbot_mvp.v{VERSION}.{self.name}"

    def type(self) -> Any:
        """Import and return the class of its rows."""
        return attribute(self.row_type)

    def rows(self) -> Any:
        """Import and return its registry; None if it has none."""
        return attribute(self.registry) if self.registry else None


def attribute(source: str) -> Any:
    """Import and return what "module:name" names."""
    module, _, name = source.partition(":")
    return getattr(import_module(module), name)


KINDS = {
    kind.name: kind
    for kind in (
        Kind("command", "chatbot_mvp.cli.lazy:Commands", "commands of the command line"),
        Kind("section", "chatbot_mvp.plugins.rows:Section", "a section of a page"),
        Kind("settings", "chatbot_mvp.plugins.rows:SettingsSection", "settings, each a field"),
        Kind("texts", "chatbot_mvp.plugins.rows:Texts", "texts of the pages, in each language"),
        Kind(
            "part",
            "chatbot_mvp.health:Part",
            "a part of the configuration that doctor and Inicio check",
            "chatbot_mvp.health:PARTS",
        ),
        Kind(
            "index_engine",
            "chatbot_mvp.retrieval.indexes.engines:IndexEngine",
            "a value of INDEX_ENGINE",
            "chatbot_mvp.retrieval.indexes.engines:INDEX_ENGINES",
        ),
        Kind(
            "run_engine",
            "chatbot_mvp.evaluation.benchmark.engine:RunEngine",
            "a value of EVAL_ENGINE",
            "chatbot_mvp.evaluation.benchmark.engine:RUN_ENGINES",
        ),
        Kind(
            "run_kind",
            "chatbot_mvp.runs.kinds:RunKind",
            "a kind of run: what is measured, and how it is resumed",
            "chatbot_mvp.runs.kinds:RUN_KINDS",
        ),
        Kind("run_page", "chatbot_mvp.plugins.rows:RunPage", "how the page draws a finished run; named as its kind"),
        Kind("completion", "chatbot_mvp.storage.data_folder:Completion", "what completes a change of the data folder"),
        Kind("pytest", "chatbot_mvp.cli.pytest_plugin:PytestPlugin", "fixtures for tests of other projects"),
        Kind("start", "chatbot_mvp.plugins.rows:Start", "work that begins when a server starts"),
        Kind("metric", "chatbot_mvp.metrics.spec:MetricSpec", "a metric", "chatbot_mvp.metrics.registry:METRICS"),
        Kind(
            "strategy",
            "chatbot_mvp.retrieval.strategies:Strategy",
            "a retrieval strategy: a list of stages",
            "chatbot_mvp.retrieval.strategies:STRATEGIES",
        ),
        Kind(
            "export",
            "chatbot_mvp.exports.base:ExportFormat",
            "a form in which a run is written",
            "chatbot_mvp.exports.formats:FORMATS",
        ),
        Kind(
            "provider",
            "chatbot_mvp.llm.provider:Provider",
            "a provider of language models",
            "chatbot_mvp.llm.registry:PROVIDERS",
        ),
        Kind(
            "reranker",
            "chatbot_mvp.retrieval.reranker:RerankerKind",
            "a model that orders what was found",
            "chatbot_mvp.retrieval.stages.rerankers:RERANKERS",
        ),
        Kind(
            "reader",
            "chatbot_mvp.documents.reading.reader:Reader",
            "a format of documents",
            "chatbot_mvp.documents.reading.readers:READERS",
        ),
        Kind(
            "page_reader",
            "chatbot_mvp.documents.reading.reader:PageReader",
            "reads the pages of a format that have no text",
            "chatbot_mvp.documents.reading.readers:PAGE_READERS",
        ),
        Kind(
            "document_source",
            "chatbot_mvp.documents.origins:DocumentSource",
            "a place that documents come from",
            "chatbot_mvp.documents.origins:DOCUMENT_SOURCES",
        ),
        Kind(
            "dataset_source",
            "chatbot_mvp.datasets.source:DatasetSource",
            "a place that data sets come from",
            "chatbot_mvp.datasets.fetching:DATASET_SOURCES",
        ),
    )
}
"""Name -> kind."""
