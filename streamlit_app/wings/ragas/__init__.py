"""The tab *Ragas* of Admin, and the page of a finished evaluation."""

from chatbot_mvp.plugins.rows import RunPage, Section, Texts

SECTION = Section("admin", "admin.ragas", f"{__name__}.launcher:ragas_section", order=40)
PAGE = RunPage(f"{__name__}.result:show_evaluation")
TEXTS = Texts(__name__)
