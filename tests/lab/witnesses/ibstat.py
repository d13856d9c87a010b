# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The witness for InfiniBand ports: ``ibstat`` of infiniband-diags."""

from __future__ import annotations

import re
from typing import Dict, Iterator, List

from .claim import Claim

_STATES = {"Initializing": "INIT", "Active": "ACTIVE", "Armed": "ARMED", "Down": "DOWN"}
_LAYERS = {"IB": "InfiniBand", "InfiniBand": "InfiniBand", "Ethernet": "Ethernet"}


def _fields(block: str) -> Dict[str, str]:
    return {name.strip(): value.strip() for name, value in re.findall(r"^\s*([^:\n]+):[ \t]*(\S.*)$", block, re.M)}


def _guid(text: str) -> str:
    digits = text[2:].rjust(16, "0")
    return ":".join(digits[start : start + 4] for start in range(0, 16, 4))


def ibstat_claims(text: str) -> Iterator[Claim]:
    """What ``ibstat`` says about every CA and port."""
    names: List[str] = []
    for block in re.split(r"^CA '", text, flags=re.M)[1:]:
        name, _quote, rest = block.partition("'")
        names.append(name)
        device, *ports = re.split(r"^\s*Port (?=\d+:$)", rest, flags=re.M)
        yield Claim("ibstat", f"{name} node_guid", _guid(_fields(device)["Node GUID"]))
        yield Claim("ibstat", f"{name} ports", [int(port.partition(":")[0]) for port in ports])
        for port in ports:
            number, fields = port.partition(":")[0], _fields(port)
            prefix = f"{name}/{number}"
            yield Claim("ibstat", f"{prefix} state", _STATES[fields["State"]])
            yield Claim("ibstat", f"{prefix} physical_state", fields["Physical state"].upper())
            yield Claim("ibstat", f"{prefix} rate_gbps", float(fields["Rate"]))
            yield Claim("ibstat", f"{prefix} lid", int(fields["Base lid"]))
            yield Claim("ibstat", f"{prefix} sm_lid", int(fields["SM lid"]))
            yield Claim("ibstat", f"{prefix} link_layer", _LAYERS[fields["Link layer"]])
    yield Claim("ibstat", "hcas", sorted(names))
