"""``tests.e2e.slow_model``, slower still, on a server that waits three seconds for who has left."""

from __future__ import annotations

import chatbot_mvp.app
from chatbot_mvp.chat import limits
from streamlit_app.web import presence
from tests.e2e import slow_model

if __name__ == "__main__":
    from streamlit.web import cli

    slow_model.SECONDS_PER_WORD = 1.5
    limits.GRACE_S, presence.SWEEP_S = 3.0, 0.5
    chatbot_mvp.app.build_app = slow_model.build_app
    cli.main()
