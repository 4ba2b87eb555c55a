"""A PDF of 1,400 pages is accepted with the default settings, and page 1,328 of it is found and cited."""

from __future__ import annotations

import random
from pathlib import Path

from chatbot_mvp.chat.context import UserContext
from tests.documents.made import Line, pdf
from tests.knowledge_base.uploading import wait, words_app

PAGE = 1_328
WORDS = [
    f"{begin}{end}" for begin in ("ne", "sto", "ada", "clus", "pro", "kre") for end in ("work", "ter", "ption", "le")
]
COMMAND = "vim-cmd vmsvc/power.off"


def page(number: int) -> list[Line]:
    if number == PAGE:
        return [
            ("Power Off a VM", 16),
            ("To power off a VM from the shell of the host, list all VMs with vim-cmd vmsvc/getallvms,", 10),
            (f"and then run the command {COMMAND} with the identifier of the VM.", 10),
        ]
    # Lines that repeat from page to page would be taken for its running head.
    rng = random.Random(number)
    lines = [" ".join(rng.choices(WORDS, k=9)) + "." for _ in range(3)]
    return [(f"{' '.join(rng.choices(WORDS, k=3))} {number}".capitalize(), 16), *((line, 10.0) for line in lines)]


def test_a_pdf_of_1400_pages_is_uploaded_at_the_defaults_and_page_1328_is_cited(tmp_path: Path) -> None:
    app = words_app(tmp_path)
    manual = pdf([page(number) for number in range(1, 1_401)])
    upload = wait(app, app.uploads.take([("vmware-vsphere-8-0.pdf", manual)]))
    [state] = upload.files
    assert (state.stage, state.pages, state.cut) == ("indexed", 1_400, False)
    record = app.kbs.store.record(upload.kb_id)
    assert record.chars > 120_000
    assert not record.kb_truncated
    answer = app.answering.ask(upload.kb_id, "How do I power off a VM?", UserContext(language="en"))
    assert answer.outcome == "answered"
    first = answer.sources[0].chunk
    assert COMMAND in first.text
    place = app.kbs.place(upload.kb_id, first.start)
    assert place is not None
    assert (place.file, place.page) == ("vmware-vsphere-8-0.pdf", PAGE)


def test_the_limit_of_the_kb_chat_can_be_set_and_cuts_with_a_mark(tmp_path: Path) -> None:
    app = words_app(tmp_path, kb_max_chars=120_000)
    text = "\n\n".join(f"Párrafo {number}. Una frase cualquiera de unas cuantas palabras." for number in range(4_000))
    upload = wait(app, app.uploads.take([("largo.txt", text.encode())]))
    record = app.kbs.store.record(upload.kb_id)
    assert record.kb_truncated
    assert 119_000 < record.chars <= 120_000 < record.original_chars
    assert app.kbs.document(upload.kb_id).text == text[: record.chars]
