#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: pod_probe
short_description: Run short-lived pods that request devices and report what they got
version_added: 1.0.0
description:
  - Creates a pod for each entry of O(pods) on its node, with an existing claim, a claim from a template, extended
    resources, or none of these. Waits until all pods have ended, returns their allocated devices and logs, and deletes
    the pods.
  - After the pods are deleted, waits until the ResourceSlices list the devices of the pods' claims as they did before,
    so that the pods of the next call can get these devices. This wait ends when no device has come back for O(timeout)
    or 180 seconds, whichever is shorter. Does not wait for devices that DRA provides for extended resources.
  - A pod may have a peer, which is another entry that is a server. The pod is created as soon as the server has an IP
    address, and finds this address in the environment variable E(ZEROCOPY_PEER). In the server, E(ZEROCOPY_SERVER) is
    V(1).
  - Pods of others are never changed, whatever their names and labels. If another pod has the name of one of O(pods),
    the new pod gets a longer name. Of a killed run of this module, only pods with the same names are deleted, after
    they have ended, which they do by themselves after the O(timeout) of that run.
  - Warns if other pods with the label C(zerocopy.rdma/probe) run in the same namespaces. They may be of another run,
    and each run may find NICs in use by the other.
  - Runs on the controller and needs only the API server.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._cluster
  - kubernetes.core.k8s_auth_options
attributes:
  check_mode:
    support: full
    details:
      - No pod is created in check mode, so RV(pods) is empty.
  diff_mode:
    support: N/A
    details:
      - This module deletes everything that it creates.
  platform:
    support: full
    platforms: linux
options:
  pods:
    description: Pods to run.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the pod.
        type: str
        required: true
      namespace:
        description: Namespace of the pod and of its template or claim.
        type: str
        required: true
      node:
        description: Name of the node that the pod runs on.
        type: str
        required: true
      template:
        description:
          - Name of a ResourceClaimTemplate, as in RV(zerocopy.rdma.applyset#module:names).
        type: str
      claim:
        description:
          - Name of a ResourceClaim to use instead of a template. If other pods use this claim, the pod is not created.
        type: str
      limits:
        description: Extended resources that the pod requests, each with its number.
        type: dict
        default: {}
      annotations:
        description: Annotations of the pod.
        type: dict
        default: {}
      capabilities:
        description: Capabilities to add, such as V(IPC_LOCK).
        type: list
        elements: str
        default: []
      environment:
        description: Environment variables.
        type: dict
        default: {}
      host_network:
        description: Whether the pod uses the network of its node.
        type: bool
        default: false
      host_sys:
        description: Whether the pod sees C(/sys) of its node, read-only, at C(/host/sys).
        type: bool
        default: false
      server:
        description: Whether another pod measures against this one.
        type: bool
        default: false
      peer:
        description: Name of the server that this pod measures against.
        type: str
  image:
    description: Image of the pods, with C(/bin/sh). It is pulled only on nodes that do not have it.
    type: str
    required: true
  script:
    description: Shell script that the pods run.
    type: str
    required: true
  timeout:
    description: Seconds after which a pod is stopped. For a pod with a peer, the time starts when that pod is created.
    type: int
    default: 120
  tolerations:
    description: Tolerations of the pods.
    type: list
    elements: dict
    default: []
  pull_secrets:
    description: Names of the image pull secrets.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: List the device nodes that a pod gets
  zerocopy.rdma.pod_probe:
    pods:
      - {name: look, namespace: training, node: h100-01, template: h100-1nic-0a1b2c3d4e}
    image: registry.example.org/rdma-tools:1
    script: ls /dev/infiniband
  register: probe

- name: Show the list
  ansible.builtin.debug:
    msg: "{{ probe.pods[0].output }}"
"""

RETURN = r"""
pods:
  description: Results, in the order of O(pods).
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name of the entry in O(pods).
      type: str
    node:
      description: Name of the node.
      type: str
    phase:
      description:
        - V(Succeeded), V(Failed), V(Running), V(Pending), V(Refused) if the API server rejected the pod, or V(InUse) if
          other pods use O(pods[].claim).
      type: str
    trouble:
      description: Why the pod did not succeed. Empty if it did.
      type: str
    output:
      description: Log of the pod.
      type: str
    seconds:
      description:
        - Seconds from the pod's creation to the start of its container. V(null) if the container never started.
      type: float
    claim:
      description: Name of the pod's claim. Empty if it has none.
      type: str
    allocation:
      description: For each device in the claim, its C(request), C(driver), C(pool) and C(device) (the device's name).
      type: list
      elements: dict
in_use:
  description:
    - What was in use on each node before the pods were created. The entry of a claimed device has its C(driver) and
      its name, C(device). The entry of a resource in O(pods[].limits) has its name, C(resource), and the C(pod) that
      holds it.
  returned: success
  type: dict
  sample:
    h100-01: [{driver: dra.net, device: pci-0000-1a-00-0}]
    v100-01: [{resource: rdma/rdma_v100, pod: training/worker-0}]
"""

from dataclasses import asdict
from typing import Any, Dict

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import probe_run
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.probe import PodProbe, Recipe
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api import dra_version
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.discovery import ACCEPT, Api
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.module import run
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client


def _call(module: Any, client: Client) -> Dict[str, Any]:
    params = module.params
    probes = [PodProbe(**pod) for pod in params["pods"]]
    version = ""
    if any(probe.claims for probe in probes):
        api = Api([client.get("/api", accept=ACCEPT), client.get("/apis", accept=ACCEPT)])
        version = dra_version.negotiate(api.versions(dra_version.GROUP), lambda: client.get("/version"))
    before = probe_run.in_use(client, probes, version)
    if module.check_mode:
        return {"changed": False, "pods": [], "in_use": before}
    recipe = Recipe(
        image=params["image"],
        script=params["script"],
        timeout=params["timeout"],
        tolerations=params["tolerations"],
        pull_secrets=params["pull_secrets"],
    )
    warnings = probe_run.clear(client, probes)
    found = probe_run.run(client, probes, recipe, version)
    pods = [asdict(result) for result in found]
    return {"changed": False, "pods": pods, "in_use": before, "warnings": warnings}


_ONE_OF = {"mutually_exclusive": [("template", "claim")]}


def main() -> None:
    pod = {
        "name": {"type": "str", "required": True},
        "namespace": {"type": "str", "required": True},
        "node": {"type": "str", "required": True},
        "template": {"type": "str"},
        "claim": {"type": "str"},
        "limits": {"type": "dict", "default": {}},
        "annotations": {"type": "dict", "default": {}},
        "capabilities": {"type": "list", "elements": "str", "default": []},
        "environment": {"type": "dict", "default": {}},
        "host_network": {"type": "bool", "default": False},
        "host_sys": {"type": "bool", "default": False},
        "server": {"type": "bool", "default": False},
        "peer": {"type": "str"},
    }
    run(
        {
            "pods": {"type": "list", "elements": "dict", "required": True, "options": pod, **_ONE_OF},
            "image": {"type": "str", "required": True},
            "script": {"type": "str", "required": True},
            "timeout": {"type": "int", "default": 120},
            "tolerations": {"type": "list", "elements": "dict", "default": []},
            "pull_secrets": {"type": "list", "elements": "str", "default": [], "no_log": False},
        },
        _call,
    )


if __name__ == "__main__":
    main()
