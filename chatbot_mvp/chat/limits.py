"""How much one visitor, and all together, may have under way and may keep."""

from __future__ import annotations

MOST_ANSWERS = 5
"""Answers of one visitor that run or wait; each has a thread."""
MOST_ANSWERS_OF_ALL = 100
"""Answers of all visitors that run or wait."""
MOST_CONVERSATIONS = 1_000
"""Conversations of one visitor, with all knowledge bases together."""
GRACE_S = 60.0
"""How long an answer goes on after its visitor has closed the last page, in seconds: enough for a reload."""
MOST_TITLE_CHARS = 200
"""Characters of the title that somebody gives a conversation."""
