# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The group to which a host belongs, out of all groups of the inventory that have it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import FrozenSet, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import fleet_wide
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.variables import GROUP, PREFIX, UNGROUPED
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem


@dataclass(frozen=True)
class InventoryGroup:
    """``above`` are the names of its ancestors; ``carries`` is whether it has variables of this collection itself."""

    name: str
    above: FrozenSet[str] = frozenset()
    carries: bool = False


def carries(variables: Mapping[str, object]) -> bool:
    """Whether these variables say something of the hosts of a group, and not of the whole fleet."""
    return any(str(name).startswith(PREFIX) and name not in fleet_wide.NAMES for name in variables)


def _deepest(groups: Sequence[InventoryGroup]) -> List[str]:
    above = {name for group in groups for name in group.above}
    return sorted(group.name for group in groups if group.name not in above)


def chosen(groups: Sequence[InventoryGroup]) -> Tuple[str, Optional[Problem]]:
    """The deepest group with variables of this collection, and what is wrong if others are no ancestors of it.

    Where no group has any, the deepest one.
    """
    carrying = [group for group in groups if group.carries]
    found = _deepest(carrying or groups)
    if len(found) < 2:
        return (found or [UNGROUPED])[0], None
    names = f"{', '.join(found[:-1])} and {found[-1]}"
    what = "which all have" if carrying else "none of which has"
    right = "set it to the right one, for example in its group_vars"
    return found[0], Problem(
        GROUP, f"is not set, but the host is in {names}, {what} variables of this collection: {right}"
    )
