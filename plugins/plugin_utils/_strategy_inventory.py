# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The hosts of the inventory as strategies take them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, TypeVar, Union

from ansible.errors import AnsibleFilterError

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.value_rules import LEAF_LABEL, TOPOLOGY
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import ClusterState
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.plain import plain
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _groups, _inventory

Plan = TypeVar("Plan")
Given = TypeVar("Given")

_PREFIXES = (
    plan_variables.STRATEGY,
    *plan_variables.OF_ROLES,
    "rdma_links_",
    "rdma_discover_expect_",
    "rdma_kernel_netns_mode",
    "rdma_cabling_json",
    LEAF_LABEL,
    TOPOLOGY,
    "rdma_ofed_",
    "rdma_operator_sriov_namespace",
    "rdma_workloads_gpu_resource",
    *(f"{role}_" for role in registry.roles()),
)


def _matters(name: str) -> bool:
    return name.startswith(_PREFIXES)


def _host(name: str, hostvars: _inventory.Hostvars, play: Mapping[str, Any]) -> InventoryHost:
    variables = hostvars[name]
    own, broken = _inventory.of_host(variables, play, _matters)
    facts, malformed = _inventory.facts_of(variables)
    whole = facts is not None and {"hcas", "gpus"} <= set(facts.sent)
    group, problem = _groups.found(hostvars, name, variables)
    broken += [problem] if problem else []
    return InventoryHost(name, group, own, facts if whole else None, broken, malformed)


def hosts(context: Mapping[str, Any], names: Sequence[str], hostvars: _inventory.Hostvars) -> List[InventoryHost]:
    """These hosts with their variables and facts. ``context`` is Jinja's."""
    play = _inventory.of_play(context, hostvars)
    return [_host(name, hostvars, play) for name in names]


def of_fleet(found: Sequence[InventoryHost], known: plan_variables.Options) -> Dict[str, Any]:
    """Variables with one value for all of these hosts, in their types, defaults included."""
    first = found[0].variables if found else {}
    return {**plan_variables.defaults(known), **plan_variables.converted(first, known)[0]}


def given(value: Union[Given, str, None]) -> Optional[Given]:
    """What a filter was given, ``None`` for nothing."""
    # Before ansible-core 2.19 a template without a value is empty text.
    return None if isinstance(value, str) else value


def cluster(
    slices: Optional[Sequence[Mapping[str, Any]]] = None,
    kubernetes: Optional[str] = None,
    device_classes: Union[Sequence[str], str, None] = None,
    kinds: Union[Sequence[str], str, None] = None,
    objects: Union[Sequence[Mapping[str, Any]], str, None] = None,
    nodes: Union[Mapping[str, Mapping[str, str]], str, None] = None,
    daemon_sets: Union[Sequence[Mapping[str, Any]], str, None] = None,
) -> ClusterState:
    """What M(zerocopy.rdma.resource_slice_info) and M(zerocopy.rdma.cluster_info) said, as strategies take it."""
    published = plain(slices or [])
    state = ClusterState(
        slices=published,
        device_classes=given(device_classes),
        kinds=given(kinds),
        objects=given(objects),
        labels=given(nodes) or {},
        daemon_sets=plain(given(daemon_sets) or []),
    )
    if not kubernetes:
        return state
    match = re.match(r"v?([0-9]+)\.([0-9]+)", str(kubernetes))
    if match is None:
        raise AnsibleFilterError(f"kubernetes is {kubernetes!r}, it must be a version like v1.36.3")
    return replace(state, kubernetes=tuple(int(number) for number in match.groups()))


def planned(
    context: Mapping[str, Any],
    found: Sequence[InventoryHost],
    plan: Callable[[Sequence[InventoryHost], ClusterState, plan_variables.Options], Plan],
    state: Optional[ClusterState] = None,
) -> Plan:
    """What ``plan`` makes of these hosts. ``context`` is Jinja's; without ``state`` nothing is known of the cluster.

    Raises AnsibleFilterError for a slice that is none.
    """
    try:
        return plan(found, state or ClusterState(), _inventory.options(context))
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error
