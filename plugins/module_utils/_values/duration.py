# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Durations as Go reads them (``time.ParseDuration``): container runtimes and Kubernetes take no others."""

from __future__ import annotations

import re
from typing import Any, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._values import integer
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import RefusedError

_PART = re.compile("([0-9]+(?:[.][0-9]*)?|[.][0-9]+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)")
_WHOLE = re.compile(f"(?:{_PART.pattern})+")
_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "\u00b5s": 10**3,
    "\u03bcs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
# Seconds after which NetworkManager takes a change back that nobody has confirmed: enough to confirm it, and no more
# than somebody waits for.
rollback_seconds = integer.between(10, 600, " seconds")
# A duration is a signed 64-bit number of nanoseconds in Go, about 292 years. More digits are not worth reading.
_LONGEST = (1 << 63) - 1
_MOST_DIGITS = 100


def nanoseconds(text: Any) -> Optional[int]:
    """A duration such as ``1m30s``, without sign; ``None`` for what Go does not read as one."""
    if text == "0":
        return 0
    if not isinstance(text, str) or len(text) > _MOST_DIGITS or not _WHOLE.fullmatch(text):
        return None
    # Each part alone is cut to whole nanoseconds.
    found = sum(_cut(number, _NANOSECONDS[unit]) for number, unit in _PART.findall(text))
    return found if found <= _LONGEST else None


def _cut(number: str, unit: int) -> int:
    whole, _dot, fraction = number.partition(".")
    found: int = int(whole + fraction) * unit // 10 ** len(fraction)
    return found


def between(text: Any, shortest: str, longest: str) -> int:
    """Nanoseconds of a duration that is within the limits. Raises RefusedError."""
    found, least, most = nanoseconds(text), nanoseconds(shortest), nanoseconds(longest)
    if found is None or least is None or most is None or not least <= found <= most:
        raise RefusedError(f"it must be a duration with its unit, like 30s or 1m30s, from {shortest} to {longest}")
    return found


def of_nri(text: Any) -> int:
    """Nanoseconds that a runtime gives an NRI plugin. Raises RefusedError.

    Time to attach a NIC to a pod goes through it: containerd's own default of 2 s is already too short for some.
    """
    return between(text, "1s", "1h")
