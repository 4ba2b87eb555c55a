"""Fetch data sets from the places that they come from: the public hub, and the places that are added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from chatbot_mvp.datasets import hotpotqa
from chatbot_mvp.datasets.counts import Counts, count_rows
from chatbot_mvp.datasets.files import check_dataset
from chatbot_mvp.datasets.source import DatasetSource, Notes, Order
from chatbot_mvp.datasets.upload import usable_name
from chatbot_mvp.errors import DatasetNotReceived
from chatbot_mvp.plugins.registry import Registry
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.storage.files import make_folder, replaced_folder
from chatbot_mvp.types import ProgressCallback, ignore_progress

DATASET_SOURCES: Mapping[str, DatasetSource] = Registry(
    "dataset_source",
    DatasetSource,
    (DatasetSource("hotpotqa", hotpotqa.write, tuple(hotpotqa.SPLITS), hotpotqa.BASE_URL),),
    lambda source: "" if source.splits else "it has no splits",
)
"""Name for ``datasets fetch`` -> source."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A data set that was fetched."""

    name: str
    folder: Path
    counts: Counts
    notes: Notes


def fetch(
    source: DatasetSource,
    settings: Settings,
    split: str = "",
    address: str = "",
    progress: ProgressCallback = ignore_progress,
) -> Fetched:
    """Fetch a data set into ``data/datasets``, and replace an earlier copy.

    Args:
        split: one of the source's; "" for its first one.
        address: where to get it; "" for its usual address.

    Raises:
        DatasetNotReceived (download_failed, dataset_source_failed): it could not be fetched.
        DatasetError: what was fetched is no valid data set; an earlier copy stays.
    """
    split = split or source.splits[0]
    name = usable_name(source.folder_name(split))
    cache = settings.cache_dir / "downloads"
    make_folder(settings.datasets_dir)
    with replaced_folder(settings.datasets_dir / name) as work:
        try:
            notes = source.write(Order(split, address or source.address, work, cache, settings), progress)
        except (OSError, ValueError) as error:
            raise DatasetNotReceived(
                "dataset_source_failed", source=source.name, found=split, reason=str(error)
            ) from error
        check_dataset(work)
    folder = settings.datasets_dir / name
    return Fetched(name, folder, count_rows(folder), notes or Notes())
