# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which rails of a group must reach each other, and which must not, from a host's variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, FrozenSet, Iterable, Iterator, Mapping, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._links import addresses
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem, wrong
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

REACHABILITY = "rdma_links_rail_reachability"
_ALL, _NONE = "all", "none"
_RIGHT = "it must be all, none, or lists of rails that reach each other, like [[0, 1], [2, 3]]"
# What the number of rails is from.
_COUNTING = (addresses.RAIL_SUBNETS, addresses.RAILS, addresses.EXPECTED)


@dataclass(frozen=True)
class RailReachability:
    """``sets`` are rails that must reach each other, ``None`` if all must. Rails that share no set must not."""

    sets: Optional[Tuple[FrozenSet[int], ...]] = None

    def between(self, rail: int, other: int) -> bool:
        return rail == other or self.sets is None or any({rail, other} <= together for together in self.sets)

    def all_of(self, rails: Iterable[int]) -> bool:
        """Whether all of these reach each other."""
        every = list(rails)
        return all(self.between(rail, other) for rail in every for other in every)


def _set(at: str, value: Any) -> FrozenSet[int]:
    if not isinstance(value, (list, tuple)):
        raise PlanError(wrong(at, value, "it must be a list of rails, like [0, 1]"))
    for position, rail in enumerate(value):
        if isinstance(rail, bool) or not isinstance(rail, int) or not 0 <= rail < addresses.MOST_RAILS:
            right = f"it must be the number of a rail, 0 to {addresses.MOST_RAILS - 1}"
            raise PlanError(wrong(f"{at}[{position}]", rail, right))
    if len(set(value)) != len(value) or len(value) < 2:
        raise PlanError(wrong(at, value, "it must name at least two rails, each once; a rail always reaches itself"))
    return frozenset(value)


def intent(values: Mapping[str, Any]) -> Optional[RailReachability]:
    """What a host's variables say, ``None`` if nothing. Raises PlanError."""
    value = values.get(REACHABILITY)
    if value is None:
        return None
    if value == _ALL:
        return RailReachability()
    if value == _NONE:
        return RailReachability(())
    if not isinstance(value, (list, tuple)) or not value:
        raise PlanError(wrong(REACHABILITY, value, _RIGHT))
    return RailReachability(tuple(_set(f"{REACHABILITY}[{place}]", entry) for place, entry in enumerate(value)))


def of_values(values: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with it, also that it names rails which there are not."""
    try:
        wanted = intent(values)
        rails = addresses.number_of_rails(addresses.intent(values))
    except PlanError as error:
        # Problems with the number of rails are reported with the addresses.
        if error.problem.variable.startswith(REACHABILITY):
            yield error.problem
        return
    named = max((rail for together in (wanted.sets if wanted else None) or () for rail in together), default=0)
    if named >= rails and any(values.get(name) for name in _COUNTING):
        has = f"but the host has {counted(rails, 'rail')}, of which the first is 0"
        yield wrong(REACHABILITY, values[REACHABILITY], f"which names rail {named}, {has}")
