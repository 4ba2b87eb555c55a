"""The local model in float32, whose vectors are the same on every processor to about 1e-6; in 8 bits it is .015.

python -m benchmarks.recorder.vectors MODULE …     run a module of the product so, such as chatbot_mvp.cli
"""

from __future__ import annotations

import runpy
import sys

from benchmarks.script import ROOT
from chatbot_mvp.embedding.engines import CTranslate2Encoder
from chatbot_mvp.settings.model import Settings


def keep_models() -> None:
    """Make this process convert the weights once for all data folders."""
    Settings.models_dir = ROOT / "data" / "cache" / "models"  # type: ignore[assignment]  # a property elsewhere


def use_float32() -> None:
    """Make this process run the local model in float32, too."""
    keep_models()
    CTranslate2Encoder.__init__.__defaults__ = ("float32",)
    # It names vectors and runs; the last bits that it is made from are the processor's.
    CTranslate2Encoder.digest = lambda self: "float32"  # type: ignore[method-assign]  # in this process only


if __name__ == "__main__":
    use_float32()
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
