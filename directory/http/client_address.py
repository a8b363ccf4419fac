"""The address of the caller, by which anonymous requests are counted and logged."""

import re
from ipaddress import IPv6Address, ip_address, ip_network

from flask import request

# As some proxies forward it: each connection has another port, and would count for itself.
WITH_PORT = re.compile(r"\[([^]]*)\](?::[0-9]*)?|([^:]+):[0-9]*")


def client_address() -> str:
    """The caller's address; of IPv6 its /64, which is what one customer is given."""
    text = request.remote_addr or "unknown"
    if with_port := WITH_PORT.fullmatch(text):
        text = with_port[1] or with_port[2]
    try:
        parsed = ip_address(text)
    except ValueError:
        return text
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is None:
        return str(ip_network((parsed, 64), strict=False))
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)


def user_agent() -> str:
    """The browser's User-Agent, as far as it can be printed."""
    return "".join(c for c in request.user_agent.string if c.isprintable())
