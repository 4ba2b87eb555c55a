"""A knowledge base whose documents change, for tests of what refers to its text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chatbot_mvp.app import App, build_app
from chatbot_mvp.documents.parsing import parse_upload
from chatbot_mvp.knowledge_base.versions import NewDocument
from chatbot_mvp.settings.model import load_settings

HOLIDAYS = """# Vacaciones

Cada persona dispone de 23 días laborables de vacaciones al año, que se piden en el portal del empleado.

Las vacaciones que no se disfrutan antes de enero se pierden, salvo baja médica justificada por escrito.
"""
ALLOWANCES = """# Dietas

La dieta de jornada completa es de 48 euros por persona, con comida y cena incluidas en el importe.

Los taxis del aeropuerto se abonan con el recibo original y la firma del responsable del proyecto.
"""
PARKING = """# Aparcamiento

La plaza número XQ-7731 del sótano corresponde a Hermenegilda Zabalbeascoa desde el traslado a la torre norte.

Hermenegilda Zabalbeascoa entrega el mando del garaje en recepción cada viernes antes de las seis de la tarde.
"""
HOW_MANY_DAYS = "¿De cuántos días laborables de vacaciones dispone cada persona?"
WHOSE_PLACE = "¿A quién corresponde la plaza del sótano?"


def document(path: str, text: str) -> NewDocument:
    content = text.encode()
    return NewDocument(path, parse_upload(Path(path).name, content, 1_000_000, 10), content)


def app_over(data: Path, **settings: Any) -> App:
    values = {"provider": "demo", "retrieval_strategy": "LEXICAL", **settings}
    return build_app(load_settings(data_dir=data, **values))


def moving_kb(app: App, *documents: NewDocument) -> str:
    """Keep documents as a knowledge base and return its id; without any, the three above."""
    usual = (
        document("personas/vacaciones.md", HOLIDAYS),
        document("gastos/dietas.md", ALLOWANCES),
        document("edificio/aparcamiento.md", PARKING),
    )
    return app.kbs.store.keep(documents or usual, 1_000_000, "Manual de la casa").kb_id
