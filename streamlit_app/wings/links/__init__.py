"""Links to answers: among the ways to share a message, and what the chat shows to whoever opens one."""

from chatbot_mvp.plugins.rows import Section, Texts

SHARE = Section("chat-share", "", f"{__name__}.section:show_link")
OPENED = Section("chat-opened", "", f"{__name__}.section:show_opened")
TEXTS = Texts(__name__)
