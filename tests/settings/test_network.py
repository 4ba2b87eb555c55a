"""A server answers to its own names only, and believes the address that a proxy reports only if it is told to."""

from __future__ import annotations

from socket import gethostname

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.settings.network import FORWARDED, HostRule, client_of


@pytest.mark.parametrize(
    ("bound", "host", "allowed"),
    [
        ("127.0.0.1", "127.0.0.1:8501", True),
        ("127.0.0.1", "127.9.9.9", True),
        ("127.0.0.1", "localhost", True),
        ("127.0.0.1", "[::1]:8501", True),
        ("127.0.0.1", "::1", True),
        ("127.0.0.1", "192.168.1.7:8501", False),
        ("127.0.0.1", "evil.example", False),
        ("127.0.0.1", "localhost.evil.example", False),
        ("127.0.0.1", "127.0.0.1@evil.example", False),
        ("127.0.0.1", "evil.example#127.0.0.1", False),
        ("127.0.0.1", f"{gethostname()}", False),
        ("192.168.1.7", "192.168.1.7:8501", True),
        ("192.168.1.7", "192.168.1.8:8501", False),
        ("0.0.0.0", "192.168.1.7", True),
        ("", "[fd00::7]:8501", True),
        ("::", f"{gethostname()}:8501", True),
        ("0.0.0.0", "evil.example", False),
        ("0.0.0.0", "", False),
        ("0.0.0.0", None, False),
    ],
)
def test_a_server_answers_to_loopback_and_to_the_address_that_it_listens_on(
    bound: str, host: str | None, allowed: bool
) -> None:
    assert HostRule("", bound).allows(host) is allowed


def test_names_of_the_setting_are_accepted_with_any_port_and_case() -> None:
    rule = HostRule("chat.example.org, KB.example.org:9000", "127.0.0.1")
    assert all(rule.allows(host) for host in ("chat.example.org", "Chat.Example.org.:443", "kb.example.org"))
    assert not rule.allows("other.example.org")


@given(st.text(max_size=40))
def test_nothing_before_another_domain_makes_it_ours(text: str) -> None:
    assert not HostRule("chat.example.org", "127.0.0.1").allows(f"{text}.evil.example")


@pytest.mark.parametrize(
    ("peer", "forwarded", "trusted", "client"),
    [
        ("", [], "", ""),
        ("9.9.9.9", [], "", "9.9.9.9"),
        # The web server took the address from the header of a local program.
        ("1.2.3.4", ["1.2.3.4"], "", FORWARDED),
        ("1.2.3.4", ["7.7.7.7, 1.2.3.4"], "", FORWARDED),
        # It did not: the header came from elsewhere.
        ("9.9.9.9", ["1.2.3.4"], "", "9.9.9.9"),
        # A proxy on this machine that is trusted.
        ("1.2.3.4", ["6.6.6.6, 1.2.3.4"], "127.0.0.1", "1.2.3.4"),
        # A proxy elsewhere that is trusted: the last address that is not a proxy's.
        ("10.0.0.2", ["6.6.6.6, 1.2.3.4"], "10.0.0.2", "1.2.3.4"),
        ("10.0.0.2", ["1.2.3.4, 10.0.0.3", "10.0.0.2"], "10.0.0.2,10.0.0.3", "1.2.3.4"),
        ("10.0.0.2", [], "10.0.0.2", "10.0.0.2"),
        ("9.9.9.9", ["1.2.3.4"], "10.0.0.2", "9.9.9.9"),
    ],
)
def test_a_forwarded_address_counts_only_from_a_proxy_in_the_settings(
    peer: str, forwarded: list[str], trusted: str, client: str
) -> None:
    assert client_of(peer, forwarded, trusted) == client


def test_a_header_does_not_choose_who_is_slowed_down() -> None:
    askers = {client_of(f"1.2.3.{n}", [f"1.2.3.{n}"], "") for n in range(200)}
    assert askers == {FORWARDED}
