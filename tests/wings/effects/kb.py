"""Small knowledge bases, questions about them, and drafts with known effects."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from chatbot_mvp.app import App
from chatbot_mvp.documents.parsing import ParsedText
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.knowledge_base.changes import Move, Remove
from chatbot_mvp.knowledge_base.versions import NewDocument

DAYS = "Cada persona dispone de 23 días laborables de vacaciones al año."
DIET = "La dieta completa es de 48 euros por cada día de viaje."
DEARER = "La dieta completa es de 53 euros por cada día de viaje."
CLOTHES = "La empresa entrega 2 uniformes al año a cada conductor."
BIKES = "El aparcamiento de bicicletas eléctricas es de 40 plazas."

HOLIDAYS = f"# Vacaciones\n\n{DAYS}\n\nLas vacaciones se solicitan con quince días de antelación.\n"
TRAVEL = f"# Dietas\n\n{DIET}\n\nLos billetes de tren se compran en clase turista.\n"
UNIFORMS = f"# Uniformes\n\n{CLOTHES}\n"
GARAGE = f"# Garaje\n\n{BIKES}\n"

QUESTIONS = (
    KbQuestion("days", "¿De cuántos días laborables de vacaciones dispone cada persona?", "answerable", DAYS),
    KbQuestion("diet", "¿De cuántos euros es la dieta completa por día de viaje?", "answerable", DIET),
    KbQuestion("clothes", "¿Cuántos uniformes entrega la empresa al año a cada conductor?", "answerable", CLOTHES),
    KbQuestion("bikes", "¿De cuántas plazas es el aparcamiento de bicicletas eléctricas?", "answerable", BIKES),
    KbQuestion("far", "¿Qué altura tiene la torre Eiffel de París?", "far"),
)
KINDS = {"days": "elsewhere", "diet": "changed", "clothes": "lost", "bikes": "new", "far": "declined"}
"""What the draft of ``staged`` does to each answer."""


def written(path: Path, questions: Sequence[KbQuestion]) -> Path:
    path.write_text("".join(f"{one.as_line()}\n" for one in questions), "utf-8")
    return path


def new(path: str, text: str) -> NewDocument:
    return NewDocument(path, ParsedText(text, "utf-8", len(text), False))


def made(app: App) -> str:
    """Keep the knowledge base and return its id."""
    documents = [new("dietas.md", TRAVEL), new("uniformes.md", UNIFORMS), new("vacaciones.md", HOLIDAYS)]
    return app.kbs.store.keep(documents, 100_000, "normas").kb_id


def staged(app: App, kb_id: str) -> str:
    """Stage a draft: a document moves, one changes, one goes, one comes. Return the id of its version."""
    changes = [Move("vacaciones.md", "rrhh/"), Remove("uniformes.md")]
    after = [new("dietas.md", TRAVEL.replace(DIET, DEARER)), new("garaje.md", GARAGE)]
    return app.kb_changes.change(kb_id, changes, after, stage=True).version


TOWNS = (
    "Burgos",
    "Cáceres",
    "Girona",
    "Huesca",
    "Jaén",
    "Lugo",
    "Murcia",
    "Ourense",
    "Soria",
    "Teruel",
    "Vigo",
    "Zamora",
)


def opens(town: str) -> str:
    return f"El taller mecánico de {town} abre a las {7 + TOWNS.index(town)} horas."


def towns(app: App) -> str:
    """Keep a knowledge base with a document per town and return its id."""
    documents = [new(f"{town.lower()}.md", f"# Taller de {town}\n\n{opens(town)}\n") for town in TOWNS]
    return app.kbs.store.keep(documents, 100_000, "talleres").kb_id


def questions_of_towns(labelled: bool = True) -> list[KbQuestion]:
    return [
        KbQuestion(town, f"¿A qué hora abre el taller mecánico de {town}?", *(("answerable", opens(town)) * labelled))
        for town in TOWNS
    ]


def without(app: App, kb_id: str, count: int) -> None:
    """Stage a draft without the documents of the first so many towns, and with one that nobody asks about."""
    gone = [Remove(f"{town.lower()}.md") for town in TOWNS[:count]]
    app.kb_changes.change(kb_id, gone, [new("otro.md", "# Otro\n\nLa cafetería sirve café.\n")], stage=True)
