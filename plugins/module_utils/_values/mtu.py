# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""MTUs by link layer, in bytes.

Sources: RFC 8200 section 5 (smallest for IPv6), RFC 4391 and Documentation/infiniband/ipoib.rst (IPoIB). 9216 is what
switches and NICs agree on for jumbo frames.
"""

from __future__ import annotations

from typing import Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import RefusedError

SMALLEST = 1280
_ETHERNET = 9216
# IB MTU 4096 without the 4 bytes of the IPoIB header; in connected mode the limit of the kernel.
_DATAGRAM = 4092
_CONNECTED = 65520


def largest(link_layer: Optional[str], transport_mode: Optional[str] = None) -> int:
    """For ``Ethernet`` or ``InfiniBand``, in any case; the largest of all where the link layer is not known."""
    layer = (link_layer or "").lower()
    if layer == "ethernet":
        return _ETHERNET
    return _DATAGRAM if layer == "infiniband" and transport_mode != "connected" else _CONNECTED


def check(
    value: int, link_layer: Optional[str], transport_mode: Optional[str] = None, smallest: int = SMALLEST
) -> None:
    """Raises RefusedError for an MTU that the link layer cannot have."""
    most = largest(link_layer, transport_mode)
    if smallest <= value <= most:
        return
    layer = (link_layer or "").lower()
    if layer == "ethernet":
        raise RefusedError(f"it must be {smallest} to {most} on Ethernet")
    if layer == "infiniband":
        mode = transport_mode or "datagram"
        larger = f", and {_CONNECTED} needs connected mode" if most == _DATAGRAM and value > most else ""
        raise RefusedError(f"it must be {smallest} to {most} with IPoIB in {mode} mode{larger}")
    raise RefusedError(
        f"it must be {smallest} to {_ETHERNET} on Ethernet, to {_DATAGRAM} on InfiniBand, to {_CONNECTED} there in "
        "connected mode"
    )
