# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a node says before it gets the OFED driver (``driver_watch``), read as input.

Whoever is root there can answer anything, and the plan of all other nodes must not fail by it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Callable, Dict, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.integer import is_integer
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import shown

_UNLIMITED = "unlimited"


@dataclass(frozen=True)
class Probe:
    """``free`` is the free space in GiB by a path on each file system, ``modules`` the users of each loaded module.

    ``unlimited`` says that rsyslog writes all kernel messages.
    """

    free: Mapping[str, float]
    modules: Mapping[str, int]
    unlimited: bool


def read(answer: Mapping[str, Any]) -> Probe:
    """Raises ValueError for an answer that cannot be used, with a text that follows what it is about."""
    unlimited = answer.get(_UNLIMITED)
    if not isinstance(unlimited, bool):
        raise _unusable(_UNLIMITED, unlimited, "true or false")
    return Probe(
        _numbers(answer, "free", _is_space, "GiB by path"),
        _numbers(answer, "modules", is_integer, "users by module"),
        unlimited,
    )


def _numbers(answer: Mapping[str, Any], name: str, right: Callable[[Any], bool], what: str) -> Dict[str, Any]:
    found = answer.get(name)
    if not isinstance(found, Mapping):
        raise _unusable(name, found, what)
    for key, value in found.items():
        if not right(value):
            raise _unusable(f"{name}[{shown(key)}]", value, f"a number: {what}")
    return {str(key): value for key, value in found.items()}


def _is_space(value: Any) -> bool:
    return is_integer(value) or (isinstance(value, float) and math.isfinite(value))


def _unusable(name: str, value: Any, right: str) -> ValueError:
    return ValueError(f"its answer cannot be used: {name} is {shown(value)}, it must be {right}")
