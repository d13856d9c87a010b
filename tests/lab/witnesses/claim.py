# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A claim is what one witness says about one thing; facts must say the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Sequence


@dataclass(frozen=True)
class Claim:
    """``key`` names a thing as in ``rxe0/1 state``; ``witness`` is the tool that says so."""

    witness: str
    key: str
    value: Any


def disagreements(observed: Dict[str, Any], claims: Iterable[Claim], may_lack: Sequence[str] = ()) -> List[str]:
    """List every claim the facts contradict or do not know, with both values.

    ``may_lack`` names properties the facts may leave open (``None`` or absent), as without netlink or without root.
    """
    problems = []
    for claim in claims:
        value = observed.get(claim.key)
        if value == claim.value:
            continue
        if value is None and claim.key.split()[-1] in may_lack:
            continue
        told = repr(value) if claim.key in observed else "nothing"
        problems.append(f"{claim.key}: {claim.witness} says {claim.value!r}, the facts say {told}")
    return problems


def differences(one: Any, other: Any, ignored: Sequence[str], path: str = "rdma") -> List[str]:
    """List where two sets of facts differ, leaving out keys that depend on how they were gathered."""
    if isinstance(one, dict) and isinstance(other, dict):
        found = []
        for key in sorted(set(one) | set(other)):
            if key not in ignored:
                found += differences(one.get(key), other.get(key), ignored, f"{path}.{key}")
        return found
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        found = []
        for index, (left, right) in enumerate(zip(one, other)):
            found += differences(left, right, ignored, f"{path}[{index}]")
        return found
    return [] if one == other else [f"{path}: {one!r} and {other!r}"]
