"""Two servers whose clocks differ share a bucket."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from chatbot_mvp.app import App, build_app
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.wings.sharing.service import Sharing
from tests.clock import Set
from tests.hostile.test_clocks import BESIDE, TEXT
from tests.s3_server import BUCKET, S3Server


@pytest.mark.xdist_group("s3")
@pytest.mark.parametrize("ahead", [BESIDE, -BESIDE])
def test_two_servers_with_ten_minutes_between_their_clocks_share_a_bucket(
    s3: S3Server, settings: Settings, set_clock: Set, tmp_path: Path, ahead: timedelta
) -> None:
    root = f"s3://{BUCKET}/clocks/{ahead.total_seconds():.0f}"

    def server(name: str) -> App:
        own = s3.settings(settings, "none", data_dir=tmp_path / name, data_root=root)
        return build_app(own.with_changes(retrieval_strategy="LEXICAL", provider="demo"))

    one, other = server("one"), server("other")
    first = one.kbs.add("uno.md", TEXT.encode())
    one.get(Sharing).exchange()
    set_clock(ahead)
    other.get(Sharing).exchange()
    other.kbs.rename(first.kb_id, "con otro nombre")
    second = other.kbs.add("dos.md", TEXT.replace("23", "24").encode())
    other.get(Sharing).exchange()
    set_clock(timedelta(0))
    for each in (one, other, one):
        each.get(Sharing).exchange()
    for each in (one, other):
        assert {record.kb_id for record in each.kbs.records()} == {first.kb_id, second.kb_id}
        assert each.kbs.store.record(first.kb_id).kb_name == "con otro nombre"
    one.kbs.delete(second.kb_id)
    one.get(Sharing).exchange()
    set_clock(ahead)
    other.get(Sharing).exchange()
    assert [record.kb_id for record in other.kbs.records()] == [first.kb_id]
