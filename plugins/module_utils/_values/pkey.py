# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""InfiniBand partition keys (InfiniBand Architecture Specification, section 10.9)."""

from __future__ import annotations

import re

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import RefusedError

_HEXADECIMAL = re.compile("0[xX][0-9a-fA-F]{1,4}")
_MEMBER = 0x8000
_DEFAULT = 0x7FFF


def is_pkey(text: str) -> bool:
    """Whether the text is a P_Key in hexadecimal, of any partition."""
    return _HEXADECIMAL.fullmatch(text) is not None


def partition(number: int) -> int:
    """Its partition, regardless of the kind of membership."""
    return number & ~_MEMBER


def any_full(text: str) -> int:
    """A P_Key with the bit of full membership, also that of the default partition. Raises RefusedError."""
    if not is_pkey(text):
        like = f"'0x{int(text):04x}' or '0x{text}'" if re.fullmatch("[0-9]{1,4}", text) else "'0x8001'"
        raise RefusedError(f"it must be a P_Key in hexadecimal and in quotes, like {like}")
    if partition(int(text, 16)) == 0:
        raise RefusedError("which is not a partition: it must be 0x0001 to 0x7ffe, or that plus 0x8000")
    return int(text, 16) | _MEMBER


def full(text: str) -> int:
    """The same of a partition that is not the default one. Raises RefusedError."""
    number = any_full(text)
    if partition(number) == _DEFAULT:
        raise RefusedError("the default partition, to which the port itself belongs: leave it out")
    return number


def written(number: int) -> str:
    """As ``0x8001``."""
    return f"0x{number:04x}"
