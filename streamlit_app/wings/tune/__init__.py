"""The tab *Mejorar* of Admin."""

from chatbot_mvp.plugins.rows import Section, Texts

SECTION = Section("admin", "admin.tune", f"{__name__}.section:tune_section", order=35)
TEXTS = Texts(__name__)
