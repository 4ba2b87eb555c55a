"""Rows of the matrix of missing parts: the package."""

from __future__ import annotations

from tests.missing_parts import Part

PARTS = {
    "ray absent": Part(("ray",)),
    "ray absent and chosen": Part(
        ("ray",), {"EVAL_ENGINE": "ray"}, ("engine",), dict.fromkeys(("plan", "run", "answers"), "missing_package")
    ),
}
"""As ``tests.missing_parts.PARTS``."""
