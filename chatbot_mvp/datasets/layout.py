"""Find the files of a data set in the layouts of BEIR, MTEB and the public hub, by their paths alone.

``corpus`` and ``queries``: one file at the top (``corpus.jsonl``), or a folder of files named by split
(``corpus/corpus-00000-of-00002.parquet``). ``qrels``: one file at the top for everything (``qrels.parquet``), or files
named by split in ``qrels/``, ``data/`` or ``default/`` (``qrels/test.tsv``, ``data/test-00000-of-00001.parquet``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from chatbot_mvp.errors import DatasetError

DEFAULT_SPLIT = "test"
"""Split that is measured unless another one is asked for, as in BEIR."""

_TEXTS = ("parquet", "jsonl", "jsonl.gz")
_JUDGEMENTS = ("parquet", "tsv", "tsv.gz", "jsonl", "jsonl.gz", "json", "json.gz", "trec", "qrels", "txt")
_FOLDERS = {"corpus": ("corpus",), "queries": ("queries",), "qrels": ("qrels", "data", "default")}
_SHARD = re.compile(r"(?P<split>[^/]+?)(-\d+-of-\d+(-[0-9a-f]+)?)?\.(?P<suffix>[a-z]+(\.gz)?)")
_CONVERTED = re.compile(r"(?P<split>[^/]+)/\d+\.(?P<suffix>parquet)")
"""Path below ``corpus/`` and the like in the hub's automatic conversion to Parquet."""

Files = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The files that make up a data set with the judgements of one split. Paths are relative to its folder."""

    corpus: Files
    queries: Files
    qrels: Files
    split: str
    """Split of the judgements; "" if they are one file without splits."""

    @property
    def files(self) -> Files:
        return self.corpus + self.queries + self.qrels


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of a data set: split -> paths relative to its folder. Files without a split have the split ""."""

    corpus: Mapping[str, Files]
    queries: Mapping[str, Files]
    qrels: Mapping[str, Files]

    @property
    def files(self) -> list[str]:
        """Return all files, those of every split included, with the corpus first."""
        return [path for part in (self.corpus, self.queries, self.qrels) for paths in part.values() for path in paths]

    @property
    def splits(self) -> tuple[str, ...]:
        """Return the names of the splits of the judgements; empty if they are one file without splits."""
        return tuple(sorted(split for split in self.qrels if split))

    @property
    def default(self) -> str | None:
        """Return the split that is measured unless one is named; None if there are several and no default."""
        for split in ("", DEFAULT_SPLIT):
            if split in self.qrels:
                return split
        return next(iter(self.qrels)) if len(self.qrels) == 1 else None

    def choose(self, folder: str, split: str = "") -> Chosen:
        """Choose the files of a split.

        Args:
            folder: the data set's folder or address, for error messages.
            split: "" for the default: the judgements without splits, "test", or the only split.

        Raises:
            DatasetError (dataset_file_missing): corpus, queries or judgements are missing.
            DatasetError (split_unknown): there is no such split.
            DatasetError (split_needed): there are several splits and no default.
        """
        parquet = not self.corpus or any(path.endswith(".parquet") for path in next(iter(self.corpus.values())))
        for part, found, beir in (
            ("corpus", self.corpus, "corpus.jsonl"),
            ("queries", self.queries, "queries.jsonl"),
            ("qrels", self.qrels, "qrels/test.tsv"),
        ):
            if not found:
                raise DatasetError("dataset_file_missing", path=f"{folder}/{f'{part}.parquet' if parquet else beir}")
        legal = ", ".join(self.splits)
        if split and split not in self.qrels:
            raise DatasetError(
                "split_unknown", name=folder, split=split, legal=legal or "none, all its judgements are in one file"
            )
        if not split:
            if self.default is None:
                raise DatasetError("split_needed", name=folder, legal=legal)
            split = self.default
        corpus = _of_split(f"{folder}/corpus", self.corpus, split)
        queries = _of_split(f"{folder}/queries", self.queries, split)
        return Chosen(corpus, queries, self.qrels[split], split)


def layout_of(paths: Iterable[str]) -> Layout:
    """Sort the paths of a folder's files, relative to it and with slashes, into the parts of a data set.

    Paths that belong to no part are left out. A part without files stays empty.
    """
    known = sorted(paths)
    corpus, queries = (_single(part, _TEXTS, known) or _split(part, _TEXTS, known) for part in ("corpus", "queries"))
    single, split = _single("qrels", _JUDGEMENTS, known), _split("qrels", _JUDGEMENTS, known)
    # A folder may hold a data set in two forms; qrels.parquet belongs to corpus.parquet.
    together = "corpus.parquet" in known and "qrels.parquet" in known
    return Layout(corpus, queries, single if together or not split else split)


def folder_layout(folder: Path) -> Layout:
    """Return the layout of a folder of this machine."""
    names = {name for names in _FOLDERS.values() for name in names}
    patterns = ["*", *(f"{name}/*" for name in names), *(f"{name}/*/*.parquet" for name in names)]
    found = {path for pattern in patterns for path in folder.glob(pattern) if path.is_file()}
    return layout_of(path.relative_to(folder).as_posix() for path in found)


def split_reference(reference: str) -> tuple[str, str]:
    """Divide ``name#split`` into (name, split); the split is "" if the reference has none."""
    name, mark, split = reference.rpartition("#")
    return (name, split) if mark and name and re.fullmatch(r"[\w.-]+", split) else (reference, "")


def _single(part: str, suffixes: Iterable[str], known: list[str]) -> dict[str, Files]:
    return next(({"": (path,)} for suffix in suffixes if (path := f"{part}.{suffix}") in known), {})


def _split(part: str, suffixes: tuple[str, ...], known: list[str]) -> dict[str, Files]:
    """Return split -> files of the first folder that has files of the part, all of the first suffix of a split."""
    for folder in _FOLDERS[part]:
        found: dict[str, dict[str, list[str]]] = {}
        for path in known:
            name = path.removeprefix(f"{folder}/")
            match = None if name == path else _SHARD.fullmatch(name) or _CONVERTED.fullmatch(name)
            # Only in ``qrels/`` is a text file certainly a file of judgements.
            legal = suffixes if folder == part else _TEXTS
            if match and match["suffix"] in legal:
                found.setdefault(match["split"], {}).setdefault(match["suffix"], []).append(path)
        if found:
            return {
                split: tuple(next(forms[suffix] for suffix in suffixes if suffix in forms))
                for split, forms in found.items()
            }
    return {}


def _of_split(folder: str, files: Mapping[str, Files], split: str) -> Files:
    """Return the texts that belong to a split of the judgements; most data sets have one corpus for all splits."""
    part = folder.rpartition("/")[2]
    for name in ("", split, part):
        if name in files:
            return files[name]
    if len(files) > 1:
        raise DatasetError("split_unknown", name=folder, split=split or part, legal=", ".join(sorted(files)))
    return next(iter(files.values()))
