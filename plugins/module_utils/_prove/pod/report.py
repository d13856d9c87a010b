# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a pod says of itself, out of the log that ``roles/rdma_verify/files/probe.sh`` writes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Dict, List, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import is_number
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import pkey

_SECTION = re.compile("==> (.+)")
_MEMLOCK = re.compile(r"^Max locked memory\s+(unlimited|[0-9]{1,19})(?!\S)", re.MULTILINE)
_ADDRESS = re.compile(r"^\d+:\s+(\S+)\s+inet6?\s+(\S+)", re.MULTILINE)


@dataclass
class PodNetdev:
    """``lower_up`` is whether its link is up, as ``ip link`` has it."""

    mac: str
    mtu: int
    lower_up: bool
    addresses: List[str] = field(default_factory=list)


@dataclass
class PodReport:
    """``memlock`` is ``unlimited`` or bytes, empty where it is not known; ``nodes`` are names in ``/dev/infiniband``,
    ``opens`` those of uverbs nodes that can be opened.

    ``verbs`` has the RDMA device of each uverbs node that /sys knows, ``ports`` link layer and state by device and
    port, ``pkeys`` the P_Keys of a port, ``bandwidth`` the output of ib_write_bw by device and port, ``loopback`` that
    of a port to itself.
    ``topo`` is what ``nvidia-smi topo -m`` says, empty where there is no nvidia-smi.
    ``has_addresses`` and ``has_perftest`` are false where the image could not tell. ``complete``: the script came to
    its end.
    """

    memlock: str = ""
    nodes: List[str] = field(default_factory=list)
    opens: List[str] = field(default_factory=list)
    verbs: Dict[str, str] = field(default_factory=dict)
    ports: Dict[Tuple[str, int], Tuple[str, str]] = field(default_factory=dict)
    pkeys: Dict[Tuple[str, int], List[str]] = field(default_factory=dict)
    netdevs: Dict[str, PodNetdev] = field(default_factory=dict)
    bandwidth: Dict[Tuple[str, int], str] = field(default_factory=dict)
    loopback: Dict[Tuple[str, int], str] = field(default_factory=dict)
    has_addresses: bool = False
    has_perftest: bool = True
    complete: bool = False
    topo: str = ""

    @property
    def devices(self) -> List[str]:
        """The RDMA devices whose uverbs node the pod has."""
        return sorted(device for node, device in self.verbs.items() if node in self.nodes)


def _sections(output: str) -> Dict[str, str]:
    found: Dict[str, List[str]] = {}
    current: List[str] = []
    for line in output.splitlines():
        match = _SECTION.fullmatch(line)
        if match:
            current = found.setdefault(match.group(1), [])
        else:
            current.append(line)
    return {name: "\n".join(lines) for name, lines in found.items()}


def _rows(text: str, columns: int) -> List[List[str]]:
    rows = [line.split(None, columns - 1) for line in text.splitlines()]
    return [row for row in rows if len(row) == columns]


def report(output: str) -> PodReport:
    """Reads a pod's log. What is missing or damaged is left out."""
    sections = _sections(output)
    found = PodReport(
        nodes=sections.get("nodes", "").split(),
        opens=sections.get("opens", "").split(),
        verbs={row[0]: row[1] for row in _rows(sections.get("verbs", ""), 2)},
        has_addresses="addresses" in sections,
        has_perftest="no-perftest" not in sections,
        complete="end" in sections,
        topo=sections.get("topo", ""),
    )
    limit = _MEMLOCK.search(sections.get("limits", ""))
    if limit:
        found.memlock = limit.group(1)
    for device, port, layer, state in _rows(sections.get("ports", ""), 4):
        if is_number(port):
            found.ports[device, int(port)] = (layer, state.split(": ")[-1])
    for device, port, key in _rows(sections.get("pkeys", ""), 3):
        if is_number(port) and pkey.is_pkey(key):
            found.pkeys.setdefault((device, int(port)), []).append(key)
    for name, mac, mtu, carrier in _rows(sections.get("netdevs", ""), 4):
        if is_number(mtu):
            found.netdevs[name] = PodNetdev(mac, int(mtu), carrier == "1")
    for name, address in _ADDRESS.findall(sections.get("addresses", "")):
        if name in found.netdevs:
            found.netdevs[name].addresses.append(address)
    for title, text in sections.items():
        words = title.split()
        measured = {"write_bw": found.bandwidth, "loopback": found.loopback}.get(words[0]) if len(words) == 3 else None
        if measured is not None and is_number(words[2]):
            measured[words[1], int(words[2])] = text
    return found
