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
    """"module:class" of what an entry point of this kind names, below ``chatbot_mvp``."""
    summary: str
    """What one adds, for people."""
    registry: str = ""
    """"module:attribute", below ``chatbot_mvp``, of the ``Registry`` with the rows of the program and the added ones;
    "" if there is none."""

    @property
    def group(self) -> str:
        """Group of its entry points."""
        return f"chatbot_mvp.v{VERSION}.{self.name}"

    def type(self) -> Any:
        """Import and return the class of its rows."""
        return attribute(f"chatbot_mvp.{self.row_type}")

    def rows(self) -> Any:
        """Import and return its registry; None if it has none."""
        return attribute(f"chatbot_mvp.{self.registry}") if self.registry else None


def attribute(source: str) -> Any:
    """Import and return what "module:name" names."""
    module, _, name = source.partition(":")
    return getattr(import_module(module), name)


KINDS = {
    kind.name: kind
    for kind in (
        Kind("command", "cli.lazy:Commands", "commands of the command line"),
        Kind("section", "plugins.rows:Section", "a section of a page"),
        Kind("settings", "plugins.rows:SettingsSection", "settings, each a field"),
        Kind("texts", "plugins.rows:Texts", "texts of the pages, in each language"),
        Kind("part", "health:Part", "a part of the configuration that doctor and Inicio check", "health:PARTS"),
        Kind(
            "index_engine",
            "retrieval.indexes.engines:IndexEngine",
            "a value of INDEX_ENGINE",
            "retrieval.indexes.engines:INDEX_ENGINES",
        ),
        Kind(
            "run_engine",
            "evaluation.benchmark.engine:RunEngine",
            "a value of EVAL_ENGINE",
            "evaluation.benchmark.engine:RUN_ENGINES",
        ),
        Kind(
            "run_kind",
            "runs.kinds:RunKind",
            "a kind of run: what is measured, and how it is resumed",
            "runs.kinds:RUN_KINDS",
        ),
        Kind("run_page", "plugins.rows:RunPage", "how the page draws a finished run; named as its kind"),
        Kind("completion", "storage.data_folder:Completion", "what completes a change of the data folder"),
        Kind("pytest", "cli.pytest_plugin:PytestPlugin", "fixtures for tests of other projects"),
        Kind("start", "plugins.rows:Start", "work that begins when a server starts"),
        Kind(
            "kb_keeper",
            "evaluation.keeping:KbKeeper",
            "what keeps or refers to text of knowledge bases, so that versions stay and purges reach it",
        ),
        Kind("metric", "metrics.spec:MetricSpec", "a metric", "metrics.registry:METRICS"),
        Kind(
            "strategy",
            "retrieval.strategies:Strategy",
            "a retrieval strategy: a list of stages",
            "retrieval.strategies:STRATEGIES",
        ),
        Kind("export", "exports.base:ExportFormat", "a form in which a run is written", "exports.formats:FORMATS"),
        Kind("provider", "llm.provider:Provider", "a provider of language models", "llm.registry:PROVIDERS"),
        Kind(
            "reranker",
            "retrieval.reranker:RerankerKind",
            "a model that orders what was found",
            "retrieval.stages.rerankers:RERANKERS",
        ),
        Kind("reader", "documents.reading.reader:Reader", "a format of documents", "documents.reading.readers:READERS"),
        Kind(
            "page_reader",
            "documents.reading.reader:PageReader",
            "reads the pages of a format that have no text",
            "documents.reading.readers:PAGE_READERS",
        ),
        Kind(
            "document_source",
            "documents.origins:DocumentSource",
            "a place that documents come from",
            "documents.origins:DOCUMENT_SOURCES",
        ),
        Kind(
            "dataset_source",
            "datasets.source:DatasetSource",
            "a place that data sets come from",
            "datasets.fetching:DATASET_SOURCES",
        ),
    )
}
"""Name -> kind."""
