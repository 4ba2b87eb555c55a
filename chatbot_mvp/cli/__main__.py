"""``python -m chatbot_mvp.cli``: the command ``chatbot-mvp`` without its script."""

from chatbot_mvp.cli.main import program

program()
