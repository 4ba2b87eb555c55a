"""Order scored documents as evaluation tools do."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping


def trec_order(scores: Mapping[str, float]) -> dict[str, float]:
    """Order documents as trec_eval does: by descending score in single precision, ties by descending id.

    trec_eval and the tools on top of it ignore the ranks in a file (``comp_sim_docno`` in its ``form_res_rels.c``).
    """
    order = sorted(scores, key=lambda doc_id: (ctypes.c_float(scores[doc_id]).value, doc_id), reverse=True)
    return {doc_id: scores[doc_id] for doc_id in order}
