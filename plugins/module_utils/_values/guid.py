# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""GUIDs of InfiniBand nodes and ports: EUI-64, as ``ip link`` takes them (``02:59:9f:00:01:c6:e4:6b``)."""

from __future__ import annotations

import re

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.mac import written
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import RefusedError

# By octets as ip link, in fours as sysfs (drivers/infiniband/core/sysfs.c), and whole as opensm and ibstat write them.
_FORMS = re.compile("[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\\1){6}[0-9a-f]{2}|[0-9a-f]{4}(?::[0-9a-f]{4}){3}|0x[0-9a-f]{16}")
_LOCAL = 0x02


def _octets(text: str) -> bytes:
    lower = text.lower()
    if not _FORMS.fullmatch(lower):
        return b""
    return bytes.fromhex(re.sub("^0x|[:-]", "", lower))


def read(text: str) -> str:
    """The GUID by octets, in lower case. Raises RefusedError."""
    octets = _octets(text)
    if not any(octets):
        raise RefusedError("it must be a GUID like '02:59:9f:00:01:c6:e4:6b', in quotes and not zero")
    return written(octets)


def is_guid(text: str) -> bool:
    """Whether it is a GUID other than zero."""
    return any(_octets(text))


def derived(node: str, number: int) -> str:
    """The GUID of VF ``number`` of the PF with the GUID ``node``, which has to be one.

    It keeps the vendor (3 octets) and the card's own number (the last 3), and has the VF's number in between, where
    those of ConnectX cards are alike. It is locally administered, so no card comes with it.
    """
    octets = _octets(node)
    return written(bytes([octets[0] | _LOCAL]) + octets[1:3] + number.to_bytes(2, "big") + octets[5:])
