"""Data sets in Admin, through AppTest with real files behind it."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from streamlit_app.shared.state import get_app
from tests.datasets.test_uploads import BEIR, packed
from tests.ui.test_pages import open_page, texts

pytestmark = pytest.mark.usefixtures("data_dir")


def upload(page: AppTest, name: str, content: bytes) -> AppTest:
    [box] = [box for box in page.file_uploader if str(box.key).startswith("data_upload")]
    box.set_value([(name, content, "application/zip")]).run()
    page.button(key="data_upload_go").click().run()
    assert not page.exception, page.exception
    return page


def names(page: AppTest) -> list[str]:
    [table] = [table.value for table in page.dataframe if "Juicios" in table.value]
    return list(table["Nombre"])


@pytest.mark.slow
def test_a_zip_is_uploaded_looked_at_and_deleted_only_after_a_confirmation() -> None:
    page = upload(open_page("admin"), "costa.zip", packed(BEIR, "costa/").getvalue())
    assert "costa está listo" in page.success[0].value
    assert sorted(names(page)) == ["costa", "valle_multihop"]
    offered = page.selectbox(key="run_dataset").options
    assert "costa" in offered and "valle_multihop (de ejemplo: preguntas sobre un valle inventado)" in offered
    page.selectbox(key="data_look").set_value("costa").run()
    assert "1 con respuesta esperada" in texts(page)
    assert any("Faro" in table.value.to_string() for table in page.dataframe)
    page.button(key="data_delete").click().run()
    assert "Durante un día se puede deshacer aquí" in texts(page)
    assert "costa" in get_app().datasets.names()
    # A dialog's own reruns are the browser's to test.
    assert page.button(key="data_delete_yes").label == "Eliminar el conjunto de datos"


def test_a_deletion_is_undone() -> None:
    get_app().datasets.upload([("costa.zip", packed(BEIR))], "costa")
    get_app().datasets.delete("costa", undoable=True)
    page = open_page("admin")
    assert names(page) == ["valle_multihop"]
    page.button(key="undelete-data-costa").click().run()
    assert sorted(names(page)) == ["costa", "valle_multihop"]
    assert not [button for button in page.button if str(button.key).startswith("undelete")]


@pytest.mark.slow
def test_a_zip_that_is_no_data_set_is_told_with_file_and_line() -> None:
    broken = {**BEIR, "queries.jsonl": '{"_id": "q1"\n'}
    page = upload(open_page("admin"), "costa.zip", packed(broken).getvalue())
    assert "«queries.jsonl»" in page.error[0].value
    assert "line 1" in page.error[0].value
    assert names(page) == ["valle_multihop"]


def test_a_folder_on_the_server_is_added(tmp_path: Path) -> None:
    page = open_page("admin")
    page.text_input(key="data_folder").input(str(tmp_path))
    page.button(key="data_folder_go").click().run()
    assert "le falta el archivo" in page.error[0].value
    for name, text in BEIR.items():
        path = tmp_path / "costa" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    page.text_input(key="data_folder").input(str(tmp_path / "costa"))
    page.button(key="data_folder_go").click().run()
    assert "costa" in names(page)


@pytest.mark.slow
def test_a_server_of_data_sets_that_does_not_answer_is_told_when_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"ENDPOINT": "http://127.0.0.1:1", "ACCESS_KEY": "key", "SECRET_KEY": "secret-secret", "BUCKET_NAME": "b"}
    for name, value in values.items():
        monkeypatch.setenv(f"MINIO_{name}", value)
    page = open_page("admin")
    assert not page.error
    page.button(key="data_s3").click().run()
    assert "No se puede acceder al servidor S3" in page.error[0].value
    assert names(page) == ["valle_multihop"]


def test_hotpotqa_is_offered_until_it_is_in_the_list() -> None:
    offered = open_page("admin").button(key="data_fetch")
    assert (offered.label, offered.disabled) == ("Descargar HotpotQA", False)
    folder = get_app().settings.datasets_dir / "hotpotqa" / "qrels"
    folder.mkdir(parents=True)
    for path in (folder.parent / "corpus.jsonl", folder.parent / "queries.jsonl", folder / "test.tsv"):
        path.touch()
    listed = open_page("admin").button(key="data_fetch")
    assert (listed.label, listed.disabled) == ("HotpotQA está en la lista", True)
