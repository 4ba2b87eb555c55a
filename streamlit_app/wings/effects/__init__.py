"""The step *Cambios* of *Evaluar mi base*: what a change of documents does to the answers."""

from chatbot_mvp.plugins.rows import Section, Texts

SECTION = Section("mykb", "effects.step", f"{__name__}.section:show_effects", order=40)
TEXTS = Texts(__name__)
