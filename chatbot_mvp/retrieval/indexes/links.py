"""Build, cache and load the links between the documents of a corpus."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from pathlib import Path

from filelock import FileLock

from chatbot_mvp.retrieval.bridge.building import build_corpus
from chatbot_mvp.retrieval.bridge.corpus import GRAPH_VERSION, Corpus
from chatbot_mvp.storage.files import make_folder, replaced_folder
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk, Progress, ProgressCallback

_log = logging.getLogger(__name__)


def links(chunks: Sequence[Chunk], analyzer: Analyzer, folder: Path, progress: ProgressCallback, small: bool) -> Corpus:
    """Load or build the links. They get their name when they are complete, so a build that died leaves none.

    Args:
        folder: the folder of the inverted index.
        progress: called in the phase "link"; may raise to stop.
        small: whether links that cannot be written may be kept in memory.

    Raises:
        OSError: the disk is full or not writable, and the links are not small; ``filename`` is set.
    """
    progress(Progress("link", 0, 2 * len(chunks)))  # first, so that the phase's time includes all its work
    place = folder / f"links-{GRAPH_VERSION}"
    try:
        make_folder(folder)  # there is none yet if the words are indexed on a server
        with FileLock(f"{folder}.lock"):
            try:
                return Corpus.open(place)
            except (OSError, ValueError, KeyError):  # not built yet, or damaged
                for work in place.parent.glob(f".{place.name}.*"):  # what a build that died left
                    shutil.rmtree(work, ignore_errors=True)
            with replaced_folder(place) as work:
                build_corpus(chunks, len(chunks), analyzer, progress, work)
            return Corpus.open(place)
    except OSError as error:
        if not small:
            error.filename = error.filename or str(place)  # a write to an open file does not say to which one
            raise
        _log.warning("the links are kept in memory, because %s cannot be written: %s", place, error)
        return build_corpus(chunks, len(chunks), analyzer, progress)
