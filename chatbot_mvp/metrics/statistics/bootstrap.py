"""What statistics by chance draw with: the same numbers every time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

RESAMPLES = 2_000
SEED = 20_261_121
LEVEL = 0.95
