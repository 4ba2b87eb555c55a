"""Keeps Streamlit from contacting other machines."""

from __future__ import annotations

from streamlit import net_util


def stay_on_this_machine() -> None:
    """Let Streamlit know no address of this machine but the one that it listens on.

    When a page of another site tries to connect, Streamlit would compare that site with the public address of this
    machine, and ask a server of Amazon's for it, while all other visitors wait. A page of our own is recognised before.
    """
    net_util.get_external_ip = _unknown
    net_util.get_internal_ip = _unknown


def _unknown() -> str | None:
    return None
