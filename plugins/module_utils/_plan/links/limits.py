# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What MTU, P_Keys, VLAN and transport mode may be, by link layer.

Sources: Documentation/infiniband/ipoib.rst (modes and MTUs), InfiniBand Architecture Specification 10.9 (P_Keys),
IEEE 802.1Q (VLAN ids), RFC 8200 section 5 (smallest MTU).
"""

from __future__ import annotations

import re
from typing import Any, Iterator, List, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem, wrong

MTU, MODE, PKEYS, VLAN = "rdma_links_mtu", "rdma_links_transport_mode", "rdma_links_pkeys", "rdma_links_vlan"

SMALLEST_MTU = 1280
LARGEST_MTU = {"Ethernet": 9216, "datagram": 4092, "connected": 65520}
_DEFAULT_PKEY = 0x7FFF
_MEMBER = 0x8000


def pkey(at: str, value: Any) -> str:
    """A P_Key with the bit of full membership, as ``0x8001``. Raises PlanError."""
    if not re.match("^0[xX][0-9a-fA-F]{1,4}$", str(value)):
        like = "'0x8001'" if not re.match("^[0-9]+$", str(value)) else f"'0x{int(value):04x}' or '0x{value}'"
        raise PlanError(wrong(at, value, f"it must be a P_Key in hexadecimal and in quotes, like {like}"))
    number = int(str(value), 16)
    if number & _DEFAULT_PKEY == 0:
        raise PlanError(wrong(at, value, "which is no partition: it must be 0x0001 to 0x7ffe, or that plus 0x8000"))
    if number & _DEFAULT_PKEY == _DEFAULT_PKEY:
        raise PlanError(wrong(at, value, "the default partition, which the port itself is in: leave it out"))
    return f"0x{number | _MEMBER:04x}"


def pkeys(values: Mapping[str, Any]) -> List[str]:
    """All P_Keys of a host, each once. Raises PlanError."""
    found: List[str] = []
    for position, value in enumerate(values.get(PKEYS) or []):
        one = pkey(f"{PKEYS}[{position}]", value)
        if one in found:
            raise PlanError(wrong(f"{PKEYS}[{position}]", value, "which is there twice (0x8000 only tells membership)"))
        found.append(one)
    return found


def of_values(values: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong whatever the link layer is."""
    try:
        pkeys(values)
    except PlanError as error:
        yield error.problem
    vlan = values.get(VLAN)
    if vlan is not None and not 1 <= vlan <= 4094:
        yield wrong(VLAN, vlan, "it must be 1 to 4094")
    elif vlan is not None and values.get(PKEYS):
        yield wrong(VLAN, vlan, f"but {PKEYS} is set as well: VLANs are for Ethernet, P_Keys for InfiniBand")
    mtu = values.get(MTU)
    if mtu is not None and not SMALLEST_MTU <= mtu <= max(LARGEST_MTU.values()):
        right = (
            f"it must be {SMALLEST_MTU} to 9216 on Ethernet, to 4092 on InfiniBand, to 65520 there in connected mode"
        )
        yield wrong(MTU, mtu, right)


def of_layer(values: Mapping[str, Any], layer: Optional[str], because: str) -> Iterator[Problem]:
    """What does not go with a link layer; ``because`` says how we know it."""
    mtu, mode = values.get(MTU), values.get(MODE)
    if layer == "InfiniBand":
        if mtu is not None and LARGEST_MTU[mode or "datagram"] < mtu <= LARGEST_MTU["connected"]:
            right = "IPoIB takes at most 4092 in datagram mode, 65520 in connected mode"
            yield wrong(MTU, mtu, f"but {because}: {right}, and the mode is {mode or 'datagram'}")
        if values.get(VLAN) is not None:
            yield wrong(VLAN, values[VLAN], f"but {because}: there it must be a P_Key, {PKEYS}")
    if layer == "Ethernet":
        if mtu is not None and LARGEST_MTU["Ethernet"] < mtu <= LARGEST_MTU["connected"]:
            yield wrong(MTU, mtu, f"but {because}: there it must be at most {LARGEST_MTU['Ethernet']}")
        if mode is not None:
            yield wrong(MODE, mode, f"but {because}: only InfiniBand (IPoIB) has transport modes, leave it out")
        if values.get(PKEYS):
            yield wrong(PKEYS, values[PKEYS], f"but {because}: there it must be a VLAN, {VLAN}")
