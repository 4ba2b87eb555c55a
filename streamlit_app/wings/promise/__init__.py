"""The promise on wrong answers, below the results of *Evaluar mi base*."""

from chatbot_mvp.plugins.rows import Section, Texts

SECTION = Section("mykb-results", "mykb.promise_title", f"{__name__}.section:show_promise")
TEXTS = Texts(__name__)
