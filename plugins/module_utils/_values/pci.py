# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Addresses of PCI functions, ``0000:1a:00.0``."""

from __future__ import annotations

import re
from typing import Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import RefusedError

# As the kernel prints it: domains behind a VMD bridge have more than four digits.
PATTERN = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]"
_ADDRESS = re.compile(PATTERN)
_WITHOUT_DOMAIN = re.compile(r"[0-9a-f]{2}:[01][0-9a-f]\.[0-7]")


def is_address(text: str) -> bool:
    """Whether it is an address in the kernel's form."""
    return _ADDRESS.fullmatch(text) is not None


def address(text: str) -> str:
    """The kernel's form of an address that may lack its domain, as ``lspci`` shows it. Raises RefusedError."""
    found = text.lower()
    if _WITHOUT_DOMAIN.fullmatch(found):
        return f"0000:{found}"
    if not is_address(found):
        raise RefusedError("it must be a PCI address like 0000:1a:00.0")
    return found


def order(text: str) -> Tuple[int, str]:
    """Sort key for addresses in the kernel's form: their digits are hexadecimal, so 3f comes after 1d, and 9f after 50.

    Only the domain has no fixed width, and a longer one is a greater number.
    """
    return len(text), text


def shifted(text: str, by: int) -> str:
    """The address whose routing id (bus, device and function) is by so much greater."""
    domain, bus, rest = text.rsplit(":", 2)
    device, function = rest.split(".")
    at = (int(bus, 16) << 8 | int(device, 16) << 3 | int(function)) + by
    return f"{domain}:{at >> 8 & 0xFF:02x}:{at >> 3 & 0x1F:02x}.{at & 7}"
