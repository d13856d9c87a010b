#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: workload_rewrite
short_description: Rewrite workloads in the cluster to request RDMA by claims, and back
version_added: 0.1.0
description:
  - Does to workloads in the cluster what M(zerocopy.rdma.workload_manifests) does to manifests in files, with Services
    and InferencePools. It is for workloads that have no manifest elsewhere, such as those made with C(kubectl create).
  - Before the first change, the API server gets all of them as a dry run with strict validation. If it refuses one, as
    the template of a Job, or drops a field, nothing is changed.
  - Nothing is changed either if somebody would change one of them back, as C(managedFields) and the marks of Argo CD,
    Flux and Helm say. Owners who do it are all but C(kubectl create), C(edit), C(patch) and others that change
    something once, and O(managers).
  - Changes by a merge patch on the version that was read. Server-side apply would keep the fields that have to go,
    since others have set them.
  - What was changed is in the annotation C(zerocopy.rdma/before) of each object, as a JSON Patch that reverts it.
    With O(state=absent), it is applied.
  - Workloads roll out their new template as for any other change of it.
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
      - Namespaces, or C(namespace/name) for the objects of one name. Objects that belong together, such as an
        InferencePool and its pods, have to be among them.
    type: list
    elements: str
    required: true
  managers:
    description: Names in C(managedFields) of those who will not write their fields again.
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
  description: Objects that were changed, or would be in check mode.
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
