# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Quantities of the Kubernetes API (``resource.Quantity``): ``80G``, ``40Gi``, ``1500m``, ``12e6``."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Optional

_QUANTITY = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?[0-9]{1,3}))?")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def quantity(text: str) -> Optional[Fraction]:
    """Its value, ``None`` if it is no quantity."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    number, suffix, exponent = match.groups()
    if exponent is not None:
        return Fraction(number) * Fraction(10) ** int(exponent)
    if suffix and suffix.endswith("i"):
        return Fraction(number) * Fraction(1024) ** ("KMGTPE".index(suffix[0]) + 1)
    return Fraction(number) * Fraction(10) ** _DECIMAL[suffix or ""]
