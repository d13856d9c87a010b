# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The group of a host of ``hostvars``, by Ansible's inventory: variables do not say from which group they come."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, List, Mapping, Optional, Tuple

from ansible.vars.plugins import get_vars_from_inventory_sources, get_vars_from_path

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import groups as inventory_groups
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.groups import InventoryGroup
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.variables import GROUP, UNGROUPED
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem

_OF_ALL = ("all", "ungrouped")


@lru_cache(maxsize=4096)
def _group(group: Any, inventory: Any, loader: Any) -> InventoryGroup:
    """A group of Ansible's inventory, with the files of variables beside the inventory and beside the playbook."""
    places = (
        group.get_vars(),
        get_vars_from_inventory_sources(loader, inventory._sources, [group], "all"),
        get_vars_from_path(loader, loader.get_basedir(), [group], "all"),
    )
    above = frozenset(ancestor.name for ancestor in group.get_ancestors())
    return InventoryGroup(group.name, above, any(map(inventory_groups.carries, places)))


def _groups(hostvars: Any, host: str) -> Optional[List[InventoryGroup]]:
    """The groups of a host, ``None`` where no inventory is known."""
    inventory = getattr(hostvars, "_inventory", None)
    known = None if inventory is None else inventory.get_host(host)
    if known is None:
        return None
    every = [group for group in known.get_groups() if group.name not in _OF_ALL]
    return [_group(group, inventory, hostvars._loader) for group in every]


def found(hostvars: Any, host: str, variables: Mapping[str, Any]) -> Tuple[str, Optional[Problem]]:
    """The group of a host with these variables, and what is wrong if it is a guess."""
    if variables.get(GROUP):
        return str(variables[GROUP]), None
    groups = _groups(hostvars, host)
    if groups is None:
        return str((variables.get("group_names") or [UNGROUPED])[0]), None
    return inventory_groups.chosen(groups)


def of(hostvars: Any, host: str, variables: Optional[Mapping[str, Any]] = None) -> str:
    """The group under which a host and its problems are shown. ``variables`` are those of ``hostvars`` by default."""
    return found(hostvars, host, hostvars[host] if variables is None else variables)[0]
