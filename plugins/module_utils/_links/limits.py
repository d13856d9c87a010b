# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What MTU, P_Keys, VLAN and transport mode may be, by link layer."""

from __future__ import annotations

from typing import Any, Iterator, List, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._links import qos
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import mtu as values_mtu
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import pkey, vlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import (
    PlanError,
    Problem,
    checked,
    refused,
    wrong,
)

LAYER = "rdma_discover_expect_link_layer"
MTU, MODE, PKEYS, VLAN = "rdma_links_mtu", "rdma_links_transport_mode", "rdma_links_pkeys", "rdma_links_vlan"
# The partition that a group's ports must be members of, also where IPoIB does not use it.
MEMBERSHIP = "rdma_verify_pkey"


def pkeys(values: Mapping[str, Any]) -> List[str]:
    """All P_Keys of a host, each once. Raises PlanError."""
    found: List[str] = []
    for position, value in enumerate(values.get(PKEYS) or []):
        full = pkey.written(checked(f"{PKEYS}[{position}]", str(value), pkey.full))
        if full in found:
            raise PlanError(wrong(f"{PKEYS}[{position}]", value, "which is listed twice (0x8000 is membership only)"))
        found.append(full)
    return found


def partitions(values: Mapping[str, Any]) -> List[str]:
    """The P_Keys of which a host's ports must be full members, as ``0x8001``. Raises PlanError."""
    value = values.get(MEMBERSHIP)
    return pkeys(values) if value is None else [pkey.written(checked(MEMBERSHIP, str(value), pkey.any_full))]


def of_values(values: Mapping[str, Any]) -> Iterator[Problem]:
    """Problems that do not depend on the link layer."""
    try:
        pkeys(values)
    except PlanError as error:
        yield error.problem
    if values.get(MEMBERSHIP) is not None:
        yield from refused(MEMBERSHIP, values[MEMBERSHIP], pkey.any_full)
    number = values.get(VLAN)
    if number is not None:
        yield from refused(VLAN, number, vlan.check)
        if values.get(PKEYS):
            yield wrong(VLAN, number, f"but {PKEYS} is set as well: VLANs are for Ethernet, P_Keys for InfiniBand")
    mtu = values.get(MTU)
    if mtu is not None:
        yield from refused(MTU, mtu, lambda value: values_mtu.check(value, None))
    yield from qos.of_values(values)


def of_layer(values: Mapping[str, Any], layer: Optional[str], because: str) -> Iterator[Problem]:
    """Values that do not fit the link layer; ``because`` says how it is known."""
    mtu, mode = values.get(MTU), values.get(MODE)
    yield from qos.of_layer(values, layer, because)
    if mtu is not None and values_mtu.SMALLEST <= mtu <= values_mtu.largest(None):
        yield from refused(MTU, mtu, lambda value: values_mtu.check(value, layer, mode), f"but {because}: ")
    if layer == "InfiniBand" and values.get(VLAN) is not None:
        yield wrong(VLAN, values[VLAN], f"but {because}: leave it out, and set {PKEYS} instead")
    if layer == "Ethernet":
        if mode is not None:
            yield wrong(MODE, mode, f"but {because}: only IPoIB has transport modes, leave it out")
        if values.get(PKEYS):
            yield wrong(PKEYS, values[PKEYS], f"but {because}: leave it out, and set {VLAN} instead")
        if values.get(MEMBERSHIP) is not None:
            yield wrong(MEMBERSHIP, values[MEMBERSHIP], f"but {because}: leave it out, RoCE has no partitions")
