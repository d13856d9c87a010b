#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: workload_manifests
short_description: Rewrite manifests of workloads to request RDMA by claims, and back
version_added: 1.0.0
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
  - Rewrites objects of the kinds that M(zerocopy.rdma.workload_audit_info) knows. Objects that cannot be changed safely
    stay as they are, and RV(notes) says why. So does every other document that asks for RDMA, whatever it is.
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
options:
  paths:
    description:
      - Files, and directories in which all C(*.yml), C(*.yaml) and C(*.json) files are read, and C(Kustomization).
        Directories whose names start with a dot are skipped. Only regular files up to 16 MiB are read. Templates such
        as C(*.j2), C(*.tpl) and C(*.jsonnet) are never changed, but named in RV(notes) if they ask for RDMA.
      - Give manifests that belong together, such as an InferencePool and its pods, in the same call.
    type: list
    elements: path
    required: true
  directory:
    description:
      - Directory to which changed files are written, under the same names as below O(paths), or, if two of these are
        equal, as below the directory that all O(paths) have in common. By default, files are changed in place.
      - Nothing is written through a link that leads out of this directory or, in place, out of an entry of O(paths).
    type: path
  namespace:
    description:
      - Namespace of manifests that do not name one. By default, any namespace that has the template is assumed.
    type: str
    default: ''
  state:
    description: V(present) rewrites workloads, V(absent) reverts what was rewritten.
    type: str
    choices: [present, absent]
    default: present
  requests:
    description:
      - The requests that pods of the group can make, as M(zerocopy.rdma.plan) returns them.
        Not used with O(state=absent).
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name of the request.
        type: str
        required: true
      templates:
        description: Name of the ResourceClaimTemplate in each namespace.
        type: dict
        default: {}
      claims:
        description: Name of the ResourceClaim in each namespace.
        type: dict
        default: {}
      limits:
        description: Extended resources, each with its number.
        type: dict
        default: {}
      gpus:
        description: Number of GPUs that the claim includes.
        type: int
        default: 0
      nics:
        description:
          - Number of NICs that the claim includes, or that a container gets. V(0) stands for all NICs that a container
            could use on its node.
        type: int
        default: 0
      gpus_only:
        description: Whether the claim has GPUs and no NICs.
        type: bool
        default: false
      annotations:
        description: Annotations of the pod.
        type: dict
        default: {}
      capabilities:
        description: Capabilities to add to the container.
        type: list
        elements: str
        default: []
      environment:
        description: Environment variables of the container. Variables that are already set are kept.
        type: dict
        default: {}
      namespace:
        description: Namespace in which the request is possible. If empty, it is possible in any namespace.
        type: str
        default: ''
      host_network:
        description: Whether pods must be on the host network. If so, C(hostNetwork) stays.
        type: bool
        default: false
      gpu_resource:
        description:
          - Extended resource of GPUs of which the container must request at least one. It then gets the NICs near to
            its GPUs. If empty, the request needs no GPU.
        type: str
        default: ''
      gpu_vendors:
        description:
          - Vendors of the GPUs of the nodes, such as V(nvidia), V(amd), V(intel) and V(habana). If it is not known,
            these are taken to be V(nvidia).
        type: list
        elements: str
        default: []
      gpu_models:
        description: Models of the GPUs of the nodes, as their driver names them.
        type: list
        elements: str
        default: []
      gpu_resources:
        description: Extended resources that are the GPUs of these nodes, whatever their names say.
        type: list
        elements: str
        default: []
      node_gpus:
        description: Number of GPUs of a node, V(0) if it is not known.
        type: int
        default: 0
      node_nics:
        description: Number of NICs that are near to GPUs of a node, V(0) if it is not known.
        type: int
        default: 0
  choices:
    description:
      - Names of the requests for each workload, by the workload's name or C(namespace/name).
      - By default, a workload gets the group's only request with as many whole GPUs as the workload has, or else the
        only request without GPUs. If several requests match, the workload stays as it is, and also if its GPUs are of
        another vendor or model, or if it asks for more NICs than the request has. It asks for as many as its RDMA
        resources say, and for the share of its GPUs in the NICs of a node.
    type: dict
    default: {}
  resources:
    description:
      - Extended resources that give access to RDMA in this cluster, besides those with well-known names. An entry that
        ends with C(/) is a prefix.
    type: list
    elements: str
    default: []
  gpu_resources:
    description:
      - Extended resources that are GPUs in this cluster, besides those with well-known names. An entry that ends with
        C(/) is a prefix. A claim with GPUs replaces limits of whole GPUs.
    type: list
    elements: str
    default: []
seealso:
  - module: zerocopy.rdma.workload_audit_info
"""

EXAMPLES = r"""
- name: Plan how pods request RDMA
  zerocopy.rdma.plan:
    parts: [cluster]
    ask: published
  register: plan
  run_once: true
  delegate_to: localhost

- name: Rewrite the manifests of a repository
  zerocopy.rdma.workload_manifests:
    paths: [clusters/production]
    requests: "{{ plan.requests.h100 }}"
    choices:
      llm/prefill: [h100-1gpu-1nic-numa0]
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

from typing import Any, Dict, List

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import Names
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import text
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests.choice import (
    NamedRequest,
    RewriteOptions,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests.disk import FileError
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests.files import FilesRequest, rewrite_files
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import visible, visible_in

_NAMES = {"type": "list", "elements": "str", "default": []}
_TABLE = {"type": "dict", "default": {}}
_NUMBER = {"type": "int", "default": 0}
_TEXT = {"type": "str", "default": ""}
_REQUEST = {
    "name": {"type": "str", "required": True},
    "templates": _TABLE,
    "claims": _TABLE,
    "limits": _TABLE,
    "gpus": _NUMBER,
    "nics": _NUMBER,
    "annotations": _TABLE,
    "capabilities": _NAMES,
    "environment": _TABLE,
    "namespace": _TEXT,
    "host_network": {"type": "bool", "default": False},
    "gpu_resource": _TEXT,
    "gpus_only": {"type": "bool", "default": False},
    "gpu_vendors": _NAMES,
    "gpu_models": _NAMES,
    "gpu_resources": _NAMES,
    "node_gpus": _NUMBER,
    "node_nics": _NUMBER,
}
_TABLES = [option for option, spec in _REQUEST.items() if spec is _TABLE]
_OPTIONS = {
    "paths": {"type": "list", "elements": "path", "required": True},
    "directory": {"type": "path"},
    "namespace": _TEXT,
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "requests": {"type": "list", "elements": "dict", "default": [], "options": _REQUEST},
    "choices": _TABLE,
    "resources": _NAMES,
    "gpu_resources": _NAMES,
}


class OptionError(Exception):
    """An option has a value of a type that it cannot have; the text says which, and what would be right."""


def _request(params: Dict[str, Any]) -> FilesRequest:
    for ask in params["requests"]:
        for option in _TABLES:
            wrong = [name for name, value in ask[option].items() if text(value) != str(value)]
            if wrong:
                raise OptionError(f"requests: {option} of {ask['name']} must be strings, but {wrong[0]} is not")
    requests = [NamedRequest(**ask) for ask in params["requests"]]
    choices = {name: _chosen(name, choice) for name, choice in params["choices"].items()}
    wish = RewriteOptions(requests, choices, Names(params["resources"], params["gpu_resources"]), params["namespace"])
    return FilesRequest(params["paths"], wish, params["directory"] or "", params["state"] == "absent")


def _chosen(name: str, choice: Any) -> List[str]:
    names = [choice] if isinstance(choice, str) else choice
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        raise OptionError(f"choices (rdma_migrate_requests): {name} must be a list of names of requests, not {choice}")
    return names


def main() -> None:
    module = AnsibleModule(_OPTIONS, supports_check_mode=True)
    try:
        request = _request(module.params)
    except OptionError as error:
        module.fail_json(msg=visible(f"No file was changed. {error}"))
    try:
        result = rewrite_files(request, module.check_mode)
    except FileError as error:
        done = f"Only changed: {', '.join(error.changed)}" if error.changed else "No file was changed"
        module.fail_json(msg=visible(f"{done}. {error}"))
    for warning in result.pop("warnings"):
        module.warn(visible(warning))
    if "diff" in result:
        result["diff"] = visible_in(result["diff"])
    module.exit_json(**result)


if __name__ == "__main__":
    main()
