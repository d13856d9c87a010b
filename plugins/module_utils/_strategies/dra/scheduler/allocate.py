# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Whether one claim can be satisfied by the devices of one node, as the scheduler's allocator decides it.

Source of the rules: ``structured/internal/stable`` of k8s.io/dynamic-resource-allocation. Which devices a request's
selectors match is worked out before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, FrozenSet, List, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice, Value

# AllocationResultsMaxSize of the API.
MOST_RESULTS = 32
_MOST_STEPS = 200_000


class TooManyStepsError(Exception):
    """There are too many possible allocations to try."""


@dataclass(frozen=True)
class Alternative:
    """Devices, by their place in the list, that a request's selectors match, and how many it wants (``None``: all)."""

    matching: FrozenSet[int]
    count: Optional[int] = 1


@dataclass(frozen=True)
class DeviceRequest:
    """Satisfied by the first of its alternatives that works (``firstAvailable``; ``exactly`` is a single one)."""

    name: str
    alternatives: Tuple[Alternative, ...]


@dataclass(frozen=True)
class DeviceConstraint:
    """All devices of these requests have the attribute, with the same value (``matchAttribute``)."""

    requests: FrozenSet[str]
    attribute: str


# The role of a device in the claim: the alternatives it matches, and its values of the constraints' attributes.
_Kind = Tuple[FrozenSet[Tuple[int, int]], Tuple[Optional[Value], ...]]
_Choice = Tuple[int, int]
_Values = Tuple[Optional[Value], ...]


class _Search:
    """Depth first over kinds of devices instead of devices, which are many and alike; dead ends are remembered.

    A state of the search is ``free``, the number of devices of each kind that are left, ``values``, the value to which
    each constraint is bound so far (``None``: to none), ``place``, the request that is next, and ``taken``, the number
    of devices of the requests before it.
    """

    def __init__(
        self, devices: Sequence[SliceDevice], requests: Sequence[DeviceRequest], constraints: Sequence[DeviceConstraint]
    ) -> None:
        self.requests, self.steps = requests, 0
        self.members: List[List[int]] = []
        self.kinds: List[_Kind] = []
        places: Dict[_Kind, int] = {}
        for index, device in enumerate(devices):
            matches = frozenset(
                (place, number)
                for place, request in enumerate(requests)
                for number, alternative in enumerate(request.alternatives)
                if index in alternative.matching
            )
            if not matches:
                continue
            kind = (matches, tuple(device.attributes.get(constraint.attribute) for constraint in constraints))
            if kind not in places:
                places[kind] = len(self.kinds)
                self.kinds.append(kind)
                self.members.append([])
            self.members[places[kind]].append(index)
        self.bound_by = [
            [number for number, constraint in enumerate(constraints) if request.name in constraint.requests]
            for request in requests
        ]
        self.dead: Set[Tuple[Any, ...]] = set()

    def run(self, free: Tuple[int, ...], values: _Values, place: int, taken: int) -> Optional[List[_Choice]]:
        """The kinds taken from request ``place`` on, as (request, kind), or ``None``."""
        if place == len(self.requests):
            return []
        for number, alternative in enumerate(self.requests[place].alternatives):
            if alternative.count is None:
                found = self._all(free, values, place, number, taken)
            else:
                found = self._exactly(free, values, place, number, alternative.count, 0, taken)
            if found is not None:
                return found
        return None

    def _bind(self, place: int, kind: int, values: _Values) -> Optional[_Values]:
        """The values of the constraints when a request gets a device of a kind, ``None`` where they do not allow it."""
        own = self.kinds[kind][1]
        bound = list(values)
        for number in self.bound_by[place]:
            # Lists of values are compared only behind a feature gate.
            if own[number] is None or isinstance(own[number], tuple) or values[number] not in (None, own[number]):
                return None
            bound[number] = own[number]
        return tuple(bound)

    def _all(
        self, free: Tuple[int, ...], values: _Values, place: int, number: int, taken: int
    ) -> Optional[List[_Choice]]:
        """For the alternative ``number`` of a request, which wants all devices that it matches."""
        left, bound = list(free), values
        own: List[_Choice] = []
        for kind, (matches, _values) in enumerate(self.kinds):
            if (place, number) not in matches:
                continue
            after = self._bind(place, kind, bound)
            if free[kind] < len(self.members[kind]) or after is None:
                return None
            bound, left[kind] = after, 0
            own += [(place, kind)] * free[kind]
        if not own or taken + len(own) > MOST_RESULTS:
            return None
        rest = self.run(tuple(left), bound, place + 1, taken + len(own))
        return None if rest is None else own + rest

    def _exactly(
        self,
        free: Tuple[int, ...],
        values: _Values,
        place: int,
        number: int,
        missing: int,
        least: int,
        taken: int,
    ) -> Optional[List[_Choice]]:
        """The same for an alternative with a number of devices, ``missing`` of which are still to be found.

        Kinds before ``least`` are not tried any more: the order in which a request gets its devices does not matter.
        """
        if missing == 0:
            return self.run(free, values, place + 1, taken)
        state = (free, values, place, number, missing, least)
        if state in self.dead or taken + missing > MOST_RESULTS:
            return None
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise TooManyStepsError
        for kind in range(least, len(self.kinds)):
            if not free[kind] or (place, number) not in self.kinds[kind][0]:
                continue
            bound = self._bind(place, kind, values)
            if bound is None:
                continue
            left = (*free[:kind], free[kind] - 1, *free[kind + 1 :])
            rest = self._exactly(left, bound, place, number, missing - 1, kind, taken + 1)
            if rest is not None:
                return [(place, kind), *rest]
        self.dead.add(state)
        return None


def allocate(
    devices: Sequence[SliceDevice], requests: Sequence[DeviceRequest], constraints: Sequence[DeviceConstraint]
) -> Optional[Dict[str, List[int]]]:
    """The devices of each request, by their place in the list, or ``None`` where the claim cannot be satisfied.

    All devices count as free. Raises TooManyStepsError where that cannot be told in reasonable time.
    """
    search = _Search(devices, requests, constraints)
    free = tuple(len(members) for members in search.members)
    found = search.run(free, (None,) * len(constraints), 0, 0)
    if found is None:
        return None
    result: Dict[str, List[int]] = {request.name: [] for request in requests}
    left = [list(members) for members in search.members]
    for place, kind in found:
        result[requests[place].name].append(left[kind].pop(0))
    return result
