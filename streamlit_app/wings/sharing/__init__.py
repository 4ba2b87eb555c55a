"""The texts of sharing, and what waits for a yes above the knowledge bases of Admin."""

from chatbot_mvp.plugins.rows import Section, Texts

DELETIONS = Section("admin-kb", "", f"{__name__}.deletions:shared_deletions")
TEXTS = Texts(__name__)
