#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: workload_manifests
short_description: Rewrite manifests of workloads to request RDMA by claims, and back
version_added: 0.1.0
description:
  - Rewrites pod templates in manifests that reach RDMA by C(hostNetwork), resources of a device plugin or a hostPath,
    so that they make the requests of a group (O(requests)) instead. All other lines of the files stay as they are, with
    their comments, quotes and order.
  - Removes C(hostNetwork) and C(dnsPolicy), limits and requests of RDMA resources, and ports of the host. Adds the
    claims and their use, or the limits and annotations of the group's strategy, and missing capabilities. A claim that
    has GPUs replaces the limits of GPUs.
  - Pods of one image and namespace that had different ports of the host get one port, with their probes, Services and
    InferencePools, where the number is nowhere else in the pod.
  - Looks at the kinds of objects of M(zerocopy.rdma.workload_audit). Objects that cannot be changed safely stay as they
    are, and RV(notes) says why.
  - What was changed is in the annotation C(zerocopy.rdma/before) of each object, as a JSON Patch that reverts it.
    With O(state=absent), it is applied.
  - Runs on the controller, and contacts no cluster.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
requirements:
  - PyYAML (Python library)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.state_module
  - zerocopy.rdma._rewrite
options:
  paths:
    description:
      - Files, and directories in which all C(*.yml), C(*.yaml) and C(*.json) are read, except in directories whose
        names start with a dot. Objects that belong together, such as an InferencePool and its pods, have to be among
        them.
    type: list
    elements: path
    required: true
  directory:
    description:
      - Directory to which changed files are written, under the same names as below O(paths). By default they are
        changed where they are.
    type: path
  namespace:
    description: Namespace of manifests that have none. By default any namespace that has the template is assumed.
    type: str
    default: ''
seealso:
  - module: zerocopy.rdma.workload_rewrite
  - module: zerocopy.rdma.workload_audit
"""

EXAMPLES = r"""
- name: Rewrite the manifests of a repository
  zerocopy.rdma.workload_manifests:
    paths: [clusters/production]
    requests: "{{ plan | zerocopy.rdma.pod_requests('h100') }}"
    choices:
      llm/prefill: [h100-1gpu-1nic-numa0]
  vars:
    plan: "{{ ansible_play_hosts_all | zerocopy.rdma.strategy_plan(hostvars) }}"
  run_once: true
  delegate_to: localhost

- name: Revert it
  zerocopy.rdma.workload_manifests:
    paths: [clusters/production]
    state: absent
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
files:
  description: Files that were written, or would be in check mode.
  returned: success
  type: list
  elements: str
  sample: [llm/prefill.yml]
notes:
  description:
    - What was not done, with C(file), C(object), C(level) and C(text). The C(level) is V(cannot) (the object stays as
      it is) or V(left) (the object was changed, and somebody has to look at this).
  returned: success
  type: list
  elements: dict
  sample: [{file: agent.yml, object: DaemonSet llm/agent, level: cannot, text: "hostNetwork may have another reason:
    a DaemonSet serves the node it is on"}]
text:
  description: Files and notes for a terminal.
  returned: success
  type: str
"""

from typing import Any, Dict

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.manifest_files import (
    FileError,
    FilesRequest,
    rewrite,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.rewrite_options import options, wish


def _request(params: Dict[str, Any]) -> FilesRequest:
    return FilesRequest(params["paths"], wish(params), params["directory"] or "", params["state"] == "absent")


def main() -> None:
    module = AnsibleModule(
        {
            "paths": {"type": "list", "elements": "path", "required": True},
            "directory": {"type": "path"},
            "namespace": {"type": "str", "default": ""},
            **options(),
        },
        supports_check_mode=True,
    )
    try:
        result = rewrite(_request(module.params), module.check_mode)
    except FileError as error:
        done = f"Only changed: {', '.join(error.changed)}" if error.changed else "No file was changed"
        module.fail_json(msg=f"{done}. {error}")
    module.exit_json(**result)


if __name__ == "__main__":
    main()
