# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: unserved
short_description: Tell why provision did not serve a host
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Returns why the pods of a host do not get RDMA, from what the roles of all strategies have registered in this run. A
    node that is not in the cluster, or does not publish its devices, does not keep provision from serving the others.
options:
  _input:
    description: The host's entry in the magic variable C(hostvars).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Fail if the host is not served
  ansible.builtin.fail:
    msg: "{{ hostvars[inventory_hostname] | zerocopy.rdma.unserved }}"
  when: hostvars[inventory_hostname] | zerocopy.rdma.unserved | length > 0
"""

RETURN = r"""
_value:
  description: One line for each reason. Empty if the host is served.
  type: list
  elements: str
  sample:
    - "h100-07: no pod can claim its NICs: DRANET publishes nothing there: it has no pod there"
"""

from typing import Any, Callable, Dict, List, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.unserved import Provisioned, reasons
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _inventory


def _left(variables: Mapping[str, Any], role: str) -> Provisioned:
    """A result that is missing, or that of a task that was skipped, says nothing."""
    labelled, result, published, planned = (
        _inventory.raw(variables, f"{role}_{name}") or {} for name in ("labelled", "result", "published", "planned")
    )
    (plan,) = planned.get("results") or [{}]
    host, nodes = variables["inventory_hostname"], published.get("nodes") or {}
    unready = list((result.get("unready") or {}).get(host, ()))
    without_gpus = nodes.get(host, {}).get("without_gpus")
    if without_gpus:
        unready.append(f"no pod can claim its GPUs: {without_gpus}")
    return Provisioned(
        missing=labelled.get("missing") or (),
        nodes=nodes,
        unready={host: unready},
        broken=result.get("broken") or {},
        unmet=plan.get("item", {}).get("unmet") or {},
    )


def unserved(variables: Mapping[str, Any]) -> List[str]:
    return reasons(str(variables["inventory_hostname"]), [_left(variables, role) for role in registry.roles()])


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"unserved": unserved}
