#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: workload_manifests
short_description: Rewrite manifests of workloads to request RDMA by claims, and back
version_added: 0.1.0
description:
  - Rewrites pod templates in manifests that get RDMA through C(hostNetwork), the resource of a device plugin or a
    hostPath, so that they use a request of a group (O(requests)) instead. All other lines of the files stay as they
    are, with their comments, quotes and order.
  - Removes C(hostNetwork), C(dnsPolicy=ClusterFirstWithHostNet), each C(hostPort) that is the same as its
    C(containerPort), and limits and requests of RDMA resources. Adds the claims and their use, or the limits and
    annotations of the group's strategy, and missing capabilities. A claim that includes GPUs replaces the limit of
    GPUs.
  - Pods of one image and namespace that had different ports because they shared the host's network get the same port,
    also in their probes, Services and InferencePools. A port whose number appears elsewhere in the pod stays as it is.
  - Rewrites objects of the kinds that M(zerocopy.rdma.workload_audit) knows. Objects that cannot be changed safely stay
    as they are, and RV(notes) says why.
  - The annotation C(zerocopy.rdma/before) of a rewritten object stores a JSON Patch that reverts the changes.
    O(state=absent) applies this patch.
  - If a file cannot be written, the message names the files that were changed before. The same call continues from
    there.
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
      - Files, and directories in which all C(*.yml), C(*.yaml) and C(*.json) files are read. Directories whose names
        start with a dot are skipped.
      - Give manifests that belong together, such as an InferencePool and its pods, in the same call.
    type: list
    elements: path
    required: true
  directory:
    description:
      - Directory to which changed files are written, under the same names as below O(paths). By default, files are
        changed in place.
    type: path
  namespace:
    description:
      - Namespace of manifests that do not name one. By default, any namespace that has the template is assumed.
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

- name: Revert the manifests
  zerocopy.rdma.workload_manifests:
    paths: [clusters/production]
    state: absent
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
files:
  description: Files that were written or, in check mode, would be. Their names are relative to the entry of O(paths).
  returned: success
  type: list
  elements: str
  sample: [llm/prefill.yml]
notes:
  description:
    - What was not done, with C(file), C(object), C(level) and C(text). The C(level) is V(cannot) (the object stays as
      it is) or V(left) (the object was changed, but this part of it is left for you to change).
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
