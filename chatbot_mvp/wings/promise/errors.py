"""Errors of a promise on wrong answers."""

from __future__ import annotations

from chatbot_mvp.errors.documents import KbEvaluationError


class PromiseError(KbEvaluationError):
    texts = {
        "no_labelled_questions": "None of the {count} questions of {name!r} can support a promise: it needs questions "
        "that a person wrote, reworded or imported, with a kind and, if answerable, a paragraph that stands in the "
        "text. Questions made by rules or a model do not count until a person rewords them.",
        "passage_length_illegal": "The expected passage of the question {question_id!r} is no paragraph: it has "
        "{chars} characters, stands in {places} places and makes up {share} of the text. Legal: at least {least} "
        "letters and digits, at most {most} characters, and at most {most_of_text} of the text. Name the paragraph "
        "that answers the question, or leave the question out.",
        "result_of_other_text": "The evaluation {result_id!r} was made with another text of the knowledge base "
        "{kb_id!r}. Evaluate the questions again.",
    }
