"""The step *Revisar el chat* of *Evaluar mi base*."""

from chatbot_mvp.plugins.rows import Section, Texts

SECTION = Section("mykb", "mykb.step.review", f"{__name__}.section:show_review", order=30)
TEXTS = Texts(__name__)
