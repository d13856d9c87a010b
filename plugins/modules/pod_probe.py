#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: pod_probe
short_description: Run short-lived pods with claims, and tell what they got
version_added: 0.1.0
description:
  - Makes a pod for each entry of O(pods) on its node, with a claim from a ResourceClaimTemplate, follows all of them to
    their end at the same time, returns what was allocated and what they wrote to their log, and takes them away again.
  - A pod may have a peer, another entry that is a server. It is made as soon as the server has an address, which it
    finds in the environment variable E(ZEROCOPY_PEER). The server has E(ZEROCOPY_SERVER).
  - It runs where Ansible runs and talks to the API server only.
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
      - No pod is made then.
  diff_mode:
    support: N/A
    details:
      - What it makes it takes away again.
  platform:
    support: full
    platforms: linux
options:
  pods:
    description: The pods.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the pod.
        type: str
        required: true
      namespace:
        description: Namespace of the pod and of the template.
        type: str
        required: true
      node:
        description: Name of the node.
        type: str
        required: true
      template:
        description: Name of the ResourceClaimTemplate, which is the one in RV(zerocopy.rdma.applyset#module:names).
        type: str
        required: true
      server:
        description: Whether another pod measures against this one.
        type: bool
        default: false
      peer:
        description: Name of the pod that this one measures against.
        type: str
  image:
    description: Image of the pods, with C(/bin/sh). A node that has it pulls nothing.
    type: str
    required: true
  script:
    description: What runs in them.
    type: str
    required: true
  timeout:
    description: Seconds that a pod may take to its end.
    type: int
    default: 120
  tolerations:
    description: Tolerations of the pods.
    type: list
    elements: dict
    default: []
  pull_secrets:
    description: Secrets to pull the image with.
    type: list
    elements: str
    default: []
  annotations:
    description: Annotations of the pods.
    type: dict
    default: {}
  capabilities:
    description: Capabilities of the container.
    type: list
    elements: str
    default: []
  field_manager:
    description: Name under which the API server remembers which fields are ours.
    type: str
    default: zerocopy.rdma
"""

EXAMPLES = r"""
- name: Look at what a pod gets
  zerocopy.rdma.pod_probe:
    pods:
      - {name: look, namespace: training, node: h100-01, template: h100-1nic-0a1b2c3d4e}
    image: registry.example.org/rdma-tools:1
    script: ls /dev/infiniband
  register: probe

- name: Show it
  ansible.builtin.debug:
    msg: "{{ probe.pods[0].output }}"
"""

RETURN = r"""
pods:
  description: What became of each pod, in the order of O(pods).
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name of the pod.
      type: str
    node:
      description: Name of the node.
      type: str
    phase:
      description: V(Succeeded), V(Failed), V(Running), V(Pending), or V(Refused) by the API server.
      type: str
    trouble:
      description: Why it did not succeed.
      type: str
    output:
      description: Its log.
      type: str
    seconds:
      description: From the pod's creation until its container started.
      type: float
    claim:
      description: Name of its claim.
      type: str
    allocation:
      description: Request, driver, pool and name of each device of its claim.
      type: list
      elements: dict
in_use:
  description: The devices of each pool that claims held before, as driver and name.
  returned: success
  type: dict
  sample: {h100-01: [dra.net/pci-0000-1a-00-0]}
"""

from dataclasses import asdict
from typing import Any, Dict

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import probe_run
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.probe import Probe, Recipe
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api import dra_version
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.discovery import ACCEPT, Api
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.module import run
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client


def _call(module: Any, client: Client) -> Dict[str, Any]:
    params = module.params
    api = Api([client.get("/api", accept=ACCEPT), client.get("/apis", accept=ACCEPT)])
    version = dra_version.negotiate(api.versions(dra_version.GROUP), lambda: client.get("/version"))
    before = probe_run.in_use(client, f"/apis/{dra_version.GROUP}/{version}")
    if module.check_mode:
        return {"changed": False, "pods": [], "in_use": before}
    recipe = Recipe(
        image=params["image"],
        script=params["script"],
        timeout=params["timeout"],
        tolerations=params["tolerations"],
        pull_secrets=params["pull_secrets"],
        annotations=params["annotations"],
        capabilities=params["capabilities"],
    )
    found = probe_run.run(client, [Probe(**pod) for pod in params["pods"]], recipe, params["field_manager"], version)
    return {"changed": False, "pods": [asdict(one) for one in found], "in_use": before}


def main() -> None:
    pod = {
        "name": {"type": "str", "required": True},
        "namespace": {"type": "str", "required": True},
        "node": {"type": "str", "required": True},
        "template": {"type": "str", "required": True},
        "server": {"type": "bool", "default": False},
        "peer": {"type": "str"},
    }
    run(
        {
            "pods": {"type": "list", "elements": "dict", "required": True, "options": pod},
            "image": {"type": "str", "required": True},
            "script": {"type": "str", "required": True},
            "timeout": {"type": "int", "default": 120},
            "tolerations": {"type": "list", "elements": "dict", "default": []},
            "pull_secrets": {"type": "list", "elements": "str", "default": [], "no_log": False},
            "annotations": {"type": "dict", "default": {}},
            "capabilities": {"type": "list", "elements": "str", "default": []},
            "field_manager": {"type": "str", "default": "zerocopy.rdma"},
        },
        _call,
    )


if __name__ == "__main__":
    main()
