# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: strategy_verdicts
short_description: Judge whether nodes show what their strategy provides
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Checks whether the pods of the device plugins' DaemonSets are ready, and whether each node has the extended resource
    of its group, and none of another group. Where the SR-IOV operator provides VFs, also checks whether the operator
    has finished with each node. Where a DRA driver publishes GPUs, also checks that no device plugin allocates them.
extends_documentation_fragment:
  - zerocopy.rdma._hosts
  - zerocopy.rdma._gpu_resources
positional: hostvars
options:
  nodes:
    description: The nodes of the cluster.
    type: list
    elements: dict
    required: true
  daemon_sets:
    description: The DaemonSets of the cluster.
    type: list
    elements: dict
    required: true
  states:
    description: The SriovNetworkNodeStates of the cluster, if the SR-IOV operator provides VFs.
    type: list
    elements: dict
    default: []
  slices:
    description: The ResourceSlices of the cluster, as M(zerocopy.rdma.resource_slice_info) returns them.
    type: list
    elements: dict
    default: []
  rdma_resources:
    description: Extended resources that are NICs, although their names may not say so, besides those of the groups.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Judge the nodes
  ansible.builtin.debug:
    msg: "{{ ansible_play_hosts_all | zerocopy.rdma.strategy_verdicts(hostvars, nodes.resources, sets.resources) }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: C(checks), as in the document of the role P(zerocopy.rdma.rdma_verify#role).
  type: dict
"""

from dataclasses import asdict
from itertools import chain
from typing import Any, Callable, Dict, List, Mapping, Sequence

from ansible.errors import AnsibleFilterError
from jinja2 import pass_context

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import Names
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.cluster import gpus, resources
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _inventory, _strategy_inventory


def _by_place(items: Sequence[Mapping[str, Any]]) -> Dict[str, Mapping[str, Any]]:
    every = [(item["metadata"], item) for item in items]
    return {f"{meta['namespace']}/{meta['name']}": item for meta, item in every}


@pass_context
def strategy_verdicts(
    context: Mapping[str, Any],
    hosts: List[str],
    hostvars: Mapping[str, Mapping[str, Any]],
    nodes: Sequence[Mapping[str, Any]],
    daemon_sets: Sequence[Mapping[str, Any]],
    states: Sequence[Mapping[str, Any]] = (),
    slices: Sequence[Mapping[str, Any]] = (),
    gpu_resources: Sequence[str] = (),
    rdma_resources: Sequence[str] = (),
) -> Dict[str, List[Dict[str, Any]]]:
    every = _strategy_inventory.hosts(context, hosts, hostvars)
    labels = {str(node["metadata"]["name"]): node["metadata"].get("labels") or {} for node in nodes}
    cluster = _strategy_inventory.cluster(nodes=labels, daemon_sets=daemon_sets)
    groups = {host.name: host.group for host in every}
    live = {str(node["metadata"]["name"]): node for node in nodes}
    planned = _strategy_inventory.planned(context, every, registry.plan, cluster)
    found = resources.checks(groups, planned, live, _by_place(daemon_sets), _by_place(states))
    nics = list(chain(*registry.resources(every, _inventory.options(context)).values()))
    try:
        devices = model.devices(slices)
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error
    found += gpus.checks(groups, live, devices, Names([*nics, *rdma_resources], gpu_resources))
    return {"checks": [asdict(check) for check in found]}


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"strategy_verdicts": strategy_verdicts}
