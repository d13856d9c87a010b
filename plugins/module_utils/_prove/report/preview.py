# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a run would write to nodes: every address in a table, and every difference.

Hosts are told together where their differences are equal but for their own addresses and MAC addresses, and what comes
from these.
"""

from __future__ import annotations

import difflib
import ipaddress
import re
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import aligned

Map = Mapping[str, Any]

COLUMNS = ("HOST", "GROUP", "NETDEV", "RAIL", "ADDRESS", "MTU")
_RAIL = re.compile(r"rdma-rail([0-9]+)")
_CONTEXT = 1
# The last 8 of an IPoIB address's 20 octets, as text: the port GUID.
_GUID = 23
# What may be a whole address, a MAC address or a UUID.
_WORD = re.compile(r"(?<![0-9A-Za-z])[0-9A-Fa-f]+(?:[.:-][0-9A-Fa-f]*)+")


@dataclass(frozen=True)
class Differences:
    """Of one host: ``diff`` as a module returns it, and the ``links`` that it is to have."""

    diff: Sequence[Map]
    links: Sequence[Map] = ()


def rows(host: str, group: str, links: Sequence[Map]) -> Iterator[Tuple[str, ...]]:
    """Each address of a host, and each of its links that has none."""
    for link in links:
        match = _RAIL.fullmatch(link["name"])
        for entry in link.get("addresses") or []:
            told = (entry["netdev"], match.group(1) if match else link["name"], entry["address"], entry["mtu"])
            yield (host, group, *("-" if value is None else str(value) for value in told))


def table(found: Sequence[Tuple[str, ...]]) -> List[str]:
    """Aligned lines with a heading."""
    return aligned([COLUMNS, *found])


def _own(links: Sequence[Map]) -> Dict[str, str]:
    """What is a host's own, each with a word that is the same on all hosts.

    The network stays in it: a host in another one differs.
    """
    found: Dict[str, str] = {}
    for link in links:
        name, mac = link["name"], str(link.get("mac") or "").lower()
        if mac:
            found[mac] = f"<MAC of {name}>"
            found.setdefault(mac[-_GUID:], f"<GUID of {name}>")
        for place, entry in enumerate(link.get("addresses") or []):
            found[entry["uuid"]] = f"<UUID {place} of {name}>"
            if entry["address"]:
                address = ipaddress.ip_interface(entry["address"])
                found[str(address.ip)] = f"<address {place} of {name} in {address.network}>"
    return found


def _shape(part: Map, own: Mapping[str, str]) -> Tuple[str, ...]:
    def told(match: re.Match[str]) -> str:
        return own.get(match.group().lower(), match.group())

    headers = (part["before_header"], part["after_header"])
    return (*headers, *(_WORD.sub(told, part[side]) for side in ("before", "after")))


def _lines(part: Map) -> List[str]:
    """Of one file, or of what is live."""
    before, after = part["before"].splitlines(), part["after"].splitlines()
    headers = (part["before_header"], part["after_header"])
    found = list(difflib.unified_diff(before, after, *headers, n=_CONTEXT, lineterm=""))
    return found or [f"{headers[1]}: differs only in what is not shown here, such as credentials or line ends"]


def differences(title: str, of_hosts: Mapping[str, Differences]) -> Iterator[str]:
    """Each difference once, below the names of all hosts that have it."""
    found: Dict[Tuple[str, ...], Dict[str, Map]] = {}
    for host, differing in of_hosts.items():
        own = _own(differing.links)
        for part in differing.diff:
            found.setdefault(_shape(part, own), {})[host] = part
    for hosts, parts in groupby(found.values(), key=list):
        every = list(parts)
        first = hosts[0]
        alike = all(part == every_host[first] for every_host in every for part in every_host.values())
        yield ""
        each = "" if alike else f", each with its own addresses and MAC addresses (shown: {first})"
        yield f"{title} of {fold(hosts)}{each}:"
        yield from (f"  {line}" for of_host in every for line in _lines(of_host[first]))
