"""Decides which requests the servers of this project accept by their host, and which address a client has.

A page of another site can make a browser send requests to this machine under that site's name (DNS rebinding). The
browser then names the other site as the host, so a server that checks the host refuses them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import ip_address
from socket import gethostname
from urllib.parse import urlsplit

from chatbot_mvp.settings.kinds import names_of

FORWARDED = "forwarded"
"""Stands for all clients whose address cannot be trusted."""
_EVERYWHERE = ("0.0.0.0", "::")  # nosec B104 - compared with the address, never bound
_READABLE = re.compile(r"[\w.:\[\]-]+")


class HostRule:
    """Which values of the headers ``Host`` and ``Origin`` are accepted."""

    def __init__(self, allowed_hosts: str, bound: str) -> None:
        """
        Args:
            allowed_hosts: value of ALLOWED_HOSTS.
            bound: address that the server listens on; "" for all addresses.
        """
        self._names = {"localhost", _name(bound), *(_name(name) for name in names_of(allowed_hosts))} - {""}
        # No other site can have an address of this machine as its name, so any address is safe where all are served.
        self._any_address = not bound or bound in _EVERYWHERE
        if self._any_address:
            machine = _name(gethostname())
            self._names |= {machine, f"{machine}.local"}

    def allows(self, host: str | None) -> bool:
        """Return whether a request with this header ``Host`` is accepted. The port does not matter."""
        name = _name(host or "")
        if name in self._names:
            return True
        try:
            address = ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or self._any_address


def _name(host: str) -> str:
    """Return the host of "host:port" or "[address]:port", in lower case; "" if it is not readable."""
    if not _READABLE.fullmatch(host):
        return ""
    text = f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host
    try:
        return (urlsplit(f"//{text}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def client_of(peer: str, forwarded_for: Sequence[str], trusted_proxies: str) -> str:
    """Return the address to attribute a client's requests to.

    The web server of the pages takes the address from ``X-Forwarded-For`` if the connection comes from loopback. Any
    local program can write that header, so it counts only if TRUSTED_PROXIES names loopback.

    Args:
        peer: the client's address as the web server gives it; "" for loopback.
        forwarded_for: values of the header ``X-Forwarded-For``.
        trusted_proxies: value of TRUSTED_PROXIES.
    """
    trusted = set(names_of(trusted_proxies))
    hops = [hop.strip() for value in forwarded_for for hop in value.split(",") if hop.strip()]
    if peer in trusted:
        return next((hop for hop in reversed(hops) if hop not in trusted), peer)
    if peer in hops and not trusted & {"127.0.0.1", "::1"}:
        return FORWARDED
    return peer
