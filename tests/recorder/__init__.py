"""Tests of the recorder, which are skipped where a wing that it records was taken out."""

import pytest

for _wing in ("effects", "gate", "links", "mcp", "promise", "review", "tune"):
    pytest.importorskip(f"chatbot_mvp.wings.{_wing}")
