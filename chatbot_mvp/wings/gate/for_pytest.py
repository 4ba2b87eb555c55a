"""What the gate gives to the tests of other projects."""

from chatbot_mvp.cli.pytest_plugin import PytestPlugin

PYTEST = PytestPlugin("chatbot_mvp.wings.gate.pytest_plugin")
