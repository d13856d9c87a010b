#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: workload_rewrite
short_description: Rewrite workloads in the cluster to request RDMA by claims, and back
version_added: 0.1.0
description:
  - Does to workloads, Services and InferencePools in the cluster what M(zerocopy.rdma.workload_manifests) does to
    manifests in files. Use it for workloads whose manifests are stored nowhere else, such as those created with
    C(kubectl create).
  - Before the first change, all changes are validated by a server-side dry run with strict field validation. If the API
    server refuses one of them, for example because the template of a Job is immutable, or does not keep one of the
    fields, the module fails and nothing is changed.
  - The module also fails before the first change if an owner would revert one of the changes. Owners are recognised by
    C(metadata.managedFields) and by the labels and annotations of Argo CD, Flux and Helm. Managers that change an
    object only once, such as C(kubectl create), C(kubectl edit) and C(kubectl patch), do not count as owners, nor do
    those in O(managers).
  - A change is a merge patch on the version that was read. Server-side apply would not work, because it cannot remove
    fields that another manager has set.
  - Objects are changed one after the other. If a change fails, the message names the objects that were changed before,
    and the same call continues from there.
  - The annotation C(zerocopy.rdma/before) of a rewritten object stores a JSON Patch that reverts the changes.
    O(state=absent) applies this patch.
  - Workloads roll out the changed pod template at once, so their pods are replaced.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.state_module
  - zerocopy.rdma._rewrite
  - zerocopy.rdma._cluster
  - kubernetes.core.k8s_auth_options
options:
  places:
    description:
      - Workloads to rewrite. Each entry is a namespace, or C(namespace/name) for all objects with this name.
      - Give objects that belong together, such as an InferencePool and its pods, in the same call.
    type: list
    elements: str
    required: true
  managers:
    description: Managers in C(metadata.managedFields) that will not revert the changes.
    type: list
    elements: str
    default: []
seealso:
  - module: zerocopy.rdma.workload_manifests
  - module: zerocopy.rdma.workload_audit
"""

EXAMPLES = r"""
- name: Rewrite a Deployment and its InferencePool
  zerocopy.rdma.workload_rewrite:
    places: [llm/decode, llm/llama]
    requests: "{{ plan | zerocopy.rdma.pod_requests('h100') }}"
  vars:
    plan: "{{ ansible_play_hosts_all | zerocopy.rdma.strategy_plan(hostvars) }}"
  run_once: true
  delegate_to: localhost

- name: Revert everything in a namespace
  zerocopy.rdma.workload_rewrite:
    places: [llm]
    state: absent
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
objects:
  description: Objects that were changed or, in check mode, would be.
  returned: success
  type: list
  elements: str
  sample: [Deployment llm/decode]
notes:
  description: What was not done, as with M(zerocopy.rdma.workload_manifests), with C(object), C(level) and C(text).
  returned: success
  type: list
  elements: dict
  sample: [{object: DaemonSet llm/agent, level: cannot, text: "hostNetwork may have another reason: a DaemonSet serves
    the node it is on"}]
text:
  description: Objects and notes for a terminal.
  returned: success
  type: str
"""

from typing import Any, Dict

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.module import run
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.live_manifests import LiveRequest, rewrite
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.rewrite_options import options, wish


def _call(module: Any, client: Client) -> Dict[str, Any]:
    params = module.params
    request = LiveRequest(params["places"], wish(params), params["managers"], params["state"] == "absent")
    return rewrite(client, request, module.check_mode)


def main() -> None:
    names = {"type": "list", "elements": "str"}
    run({"places": {**names, "required": True}, "managers": {**names, "default": []}, **options()}, _call)


if __name__ == "__main__":
    main()
