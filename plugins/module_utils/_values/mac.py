# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Link-layer addresses: MAC addresses, EUI-64, and the 20 octets of IPoIB (RFC 4391)."""

from __future__ import annotations

import re
from typing import Optional, Tuple

ETHERNET, EUI64, IPOIB = 6, 8, 20

_OCTETS = re.compile("[0-9a-f]{2}(?:([:-])[0-9a-f]{2}(?:\\1[0-9a-f]{2})*)?")


def octets(text: str, lengths: Tuple[int, ...] = (ETHERNET, EUI64, IPOIB)) -> Optional[bytes]:
    """The octets of an address of one of the lengths; ``None`` for anything else."""
    lower = text.lower()
    if not _OCTETS.fullmatch(lower):
        return None
    found = bytes.fromhex(re.sub("[:-]", "", lower))
    return found if len(found) in lengths else None


def written(address: bytes) -> str:
    """In lower case and with colons, as the kernel shows it."""
    return ":".join(f"{octet:02x}" for octet in address)
