# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Neighbours of netdevs, as ``lldpcli -f json0 show neighbors details`` of lldpd has them.

``json0`` has each key as a list, whatever the number of its values (lldpcli(8)), so its form never depends on them.
Runs on nodes: Python 3.8, standard library.
"""

from __future__ import annotations

import json
from typing import Any, Iterator, List, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.links import LldpNeighbour, cut

# Of all netdevs of a node.
MOST_NEIGHBOURS = 1024


class LldpError(ValueError):
    """The answer is not one of lldpcli."""


def _maps(value: Any) -> Iterator[Mapping[str, Any]]:
    return (item for item in value if isinstance(item, Mapping)) if isinstance(value, list) else iter(())


def _first(value: Any) -> Mapping[str, Any]:
    return next(_maps(value), {})


def _value(of: Mapping[str, Any], key: str) -> str:
    found = _first(of.get(key)).get("value")
    return cut(found) if isinstance(found, str) else ""


def _neighbour(interface: Mapping[str, Any]) -> LldpNeighbour:
    chassis, port = _first(interface.get("chassis")), _first(interface.get("port"))
    identity, description = _first(port.get("id")), _value(port, "descr")
    number = _value(port, "id")
    # A MAC address is no name of a port for people, and no spreadsheet has it.
    if identity.get("type") == "mac" and description:
        number, description = description, number
    return LldpNeighbour(
        netdev=cut(str(interface.get("name") or "")),
        chassis=_value(chassis, "id"),
        name=_value(chassis, "name") or _value(chassis, "id"),
        port=number,
        description=description,
        speed=_value(_first(port.get("auto-negotiation")), "current"),
    )


def parse(text: str) -> List[LldpNeighbour]:
    """The neighbours of each netdev; a netdev has several where others speak through an unmanaged switch.

    Raises LldpError.
    """
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LldpError(f"lldpcli gave no JSON: {error}") from error
    if not isinstance(answer, Mapping) or "lldp" not in answer:
        raise LldpError("lldpcli gave JSON without the key lldp")
    every = [_neighbour(interface) for lldp in _maps(answer["lldp"]) for interface in _maps(lldp.get("interface"))]
    found = [neighbour for neighbour in every if neighbour.netdev and neighbour.chassis]
    if len(found) > MOST_NEIGHBOURS:
        raise LldpError(f"lldpcli named {len(found)} neighbours, at most {MOST_NEIGHBOURS} are allowed")
    return found
