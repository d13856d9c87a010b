# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: claims
short_description: Plan DeviceClasses, claim templates and claims from facts
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Turns the variables C(rdma_claims_*) of all hosts and the facts of M(zerocopy.rdma.rdma_facts) into the objects of
    C(resource.k8s.io/v1) that pods claim GPUs and RDMA NICs with, and proves offline that nodes can satisfy them.
  - What the drivers will publish is worked out from the facts and the drivers' versions
    (C(rdma_driver_dranet_version), C(rdma_driver_gpu_version)), unless O(slices) says what they do publish.
  - Compute it once for all hosts (C(run_once)), not per host.
requirements:
  - cel-expr-python (Python library, where Ansible runs)
positional: hostvars
options:
  _input:
    description: Names of the hosts.
    type: list
    elements: str
    required: true
  hostvars:
    description: The magic variable C(hostvars), or any mapping of host names to variables.
    type: dict
    required: true
  slices:
    description: ResourceSlices of the cluster, of any version of the API. Nodes are matched with hosts by name.
    type: list
    elements: dict
    default: []
  kubernetes:
    description: Version of Kubernetes, for example V(v1.36.3), to refuse what it does not have.
    type: str
"""

EXAMPLES = r"""
- name: Show what pods can claim, and why so
  ansible.builtin.debug:
    msg: "{{ (ansible_play_hosts_all | zerocopy.rdma.claims(hostvars)).text }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: The plan.
  type: dict
  contains:
    objects:
      description: The objects in the order in which they are to be applied. Empty if there are problems.
      type: list
      elements: dict
    names:
      description: The ResourceClaimTemplates that each entry of C(rdma_claims_templates) becomes.
      type: dict
      sample: {h100-4gpu-4nic: [h100-4gpu-4nic-numa0, h100-4gpu-4nic-numa1]}
    text:
      description: For each template how it is aligned and why, and how many devices it matches on which nodes.
      type: str
    warnings:
      description: What does not stop anything, such as nodes on which a template does not fit.
      type: list
      elements: str
    problems:
      description: One line for each thing that is wrong, with hosts, variable, value and what would be right.
      type: list
      elements: str
"""

import re
from dataclasses import asdict
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from ansible.errors import AnsibleFilterError
from jinja2 import pass_context

from ansible_collections.zerocopy.rdma.plugins.filter.prepare_problems import _of_play, _UndefinedError, _value
from ansible_collections.zerocopy.rdma.plugins.module_utils._planning import _cel, _claims, _claims_hosts, _variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._planning._prepare_problem import Problem

_PREFIXES = ("rdma_claims", "rdma_driver_", "rdma_links_", "rdma_discover_expect_")


def _host(name: str, variables: Mapping[str, Any], of_play: Mapping[str, Any]) -> _claims_hosts.Host:
    own: Dict[str, Any] = {}
    broken: List[Problem] = []
    for variable in variables:
        if str(variable).startswith(_PREFIXES):
            try:
                own[str(variable)] = _value(variables, variable)
            except _UndefinedError as error:
                broken.append(Problem(str(variable), f"cannot be worked out: {error}"))
    own.update({variable: value for variable, value in of_play.items() if variable.startswith(_PREFIXES)})
    facts = _variables.facts_of(variables)
    whole = facts is not None and "hcas" in facts and "gpus" in facts
    return _claims_hosts.Host(name, _variables.group_of(variables), own, facts if whole else None, broken)


def _version(text: Optional[str]) -> Optional[Tuple[int, ...]]:
    if text is None:
        return None
    match = re.match(r"^v?([0-9]+)\.([0-9]+)", str(text))
    if match is None:
        raise AnsibleFilterError(f"claims: kubernetes is {text!r}, it must be a version like v1.36.3")
    return tuple(int(number) for number in match.groups())


@pass_context
def claims(
    context: Mapping[str, Any],
    hosts: List[str],
    hostvars: Mapping[str, Mapping[str, Any]],
    slices: Optional[List[Dict[str, Any]]] = None,
    kubernetes: Optional[str] = None,
) -> Dict[str, Any]:
    of_play = _of_play(context, hostvars)
    try:
        plan = _claims.plan(
            [_host(name, hostvars[name], of_play) for name in hosts], slices or [], _version(kubernetes)
        )
    except (_cel.LibraryMissingError, ValueError) as error:
        raise AnsibleFilterError(f"claims: {error}") from error
    return asdict(plan)


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"claims": claims}
