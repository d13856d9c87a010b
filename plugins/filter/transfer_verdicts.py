# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: transfer_verdicts
short_description: Read from the logs of running pods what they transfer, and over which network
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Reads the lines that vLLM logs about KV transfers, and its external prefix cache hit rate. The figures are reported
    without a threshold; a hit rate of 0 % despite transfers is a warning.
  - Reads which network NCCL or RCCL uses, if the log has their lines (C(NCCL_DEBUG=INFO)). TCP is a failure, and so are
    connections that fail, and RDMA without GPUDirect.
positional: hostvars
options:
  _input:
    description:
      - Results of M(kubernetes.core.k8s_log) in a loop whose C(item) is a list with the pod as second entry, as
        C(subelements) makes it.
    type: list
    elements: dict
    required: true
  hostvars:
    description: The magic variable C(hostvars), by which pods are assigned to the groups of their nodes.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Read the KV transfers and the network of NCCL
  ansible.builtin.set_fact:
    found: "{{ __logs.results | zerocopy.rdma.transfer_verdicts(hostvars) }}"
"""

RETURN = r"""
_value:
  description: C(checks), as in the document of P(zerocopy.rdma.rdma_verify#role).
  type: dict
"""

from dataclasses import asdict
from typing import Any, Callable, Dict, List, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import nccl, transfers


def transfer_verdicts(
    results: List[Mapping[str, Any]], hostvars: Mapping[str, Mapping[str, Any]]
) -> Dict[str, List[Dict[str, Any]]]:
    checks = []
    for result in results:
        _selected, pod = result["item"]
        node = (pod.get("spec") or {}).get("nodeName")
        host = node if node in hostvars else None
        name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        trouble = str(result.get("msg", "")).strip()
        group = variables.group_of(hostvars[host]) if host else None
        checks.append(transfers.check(name, host, group, result.get("log"), trouble))
        network = nccl.check(name, host, group, result.get("log"))
        checks += [network] if network else []
    return {"checks": [asdict(check) for check in checks]}


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"transfer_verdicts": transfer_verdicts}
