# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: workloads
short_description: Make example workloads that use RDMA, and show what to add to workloads of your own
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Makes complete manifests for the pods of each group, which request RDMA as the strategy of the group prescribes.
    Also returns, for each request, what has to be added to a pod of your own.
positional: script, settings, requests, manifests
options:
  _input:
    description: Directory of a plan with a part for the cluster (M(zerocopy.rdma.plan)).
    type: raw
    required: true
  script:
    description: Content of C(rdma-env.sh), with which the containers start.
    type: str
    required: true
  settings:
    description:
      - Settings of the site. C(images) (with the keys C(vllm), C(sglang), C(ray) and C(nccl_tests)) and C(model) are
        required. C(namespace), C(gpus), C(gpu_resource), C(shm) and C(environment) are optional. The variables of the
        role P(zerocopy.rdma.rdma_workloads#role) with these names explain them.
    type: dict
    required: true
  requests:
    description: For each group, the request that its examples use, as C(rdma_workloads_requests) of the role.
    type: dict
    default: {}
  manifests:
    description:
      - Manifests to complete, with C(path), C(container), C(group) and C(request), as C(rdma_workloads_manifests) of
        the role.
    type: list
    elements: dict
    default: []
"""

EXAMPLES = r"""
- name: Show what a pod of each group needs
  ansible.builtin.debug:
    msg: "{{ (__plan | zerocopy.rdma.workloads('', __settings)).adds }}"
  vars:
    __plan: "{{ plan.directory }}"
    __settings:
      model: Qwen/Qwen3-8B
      images:
        vllm: docker.io/vllm/vllm-openai:v0.12.0
        sglang: docker.io/lmsysorg/sglang:v0.5.5
        ray: docker.io/rayproject/ray:2.49.0-py312-gpu
        nccl_tests: ""
  run_once: true
"""

RETURN = r"""
_value:
  description: The examples, and what they are made of.
  type: dict
  contains:
    examples:
      description:
        - One entry for each file, with its C(path), the C(content) of the file, and the C(objects) in it (empty for a
          manifest of O(manifests)).
      type: list
      elements: dict
    adds:
      description:
        - For each group and request, what is added to a pod. These are C(annotations), C(pod) (its C(spec)) and
          C(container).
      type: dict
    problems:
      description: One line for each problem that prevents making the examples.
      type: list
      elements: str
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional

from ansible.errors import AnsibleFilterError

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.content_hash import hashed
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.plain import plain
from ansible_collections.zerocopy.rdma.plugins.module_utils._workloads import examples as workloads_plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._workloads.pod import Settings
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _strategy_answers


def workloads(
    plan: Mapping[str, Any],
    script: str,
    settings: Mapping[str, Any],
    requests: Optional[Mapping[str, str]] = None,
    manifests: Optional[List[Mapping[str, str]]] = None,
) -> Dict[str, Any]:
    objects, asks = _strategy_answers.read(plan)
    chosen = plain(settings)
    names = {
        (kind, item["metadata"]["name"]): hashed(item["metadata"]["name"], item["spec"])
        for kind, item in workloads_plan.claim_specs(objects)
    }
    claims = workloads_plan.claims_of(objects, names)
    chosen["environment"] = {name: str(value) for name, value in chosen.get("environment", {}).items()}
    given = [_given(plain(manifest)) for manifest in manifests or []]
    return asdict(workloads_plan.workloads(asks, claims, Settings(**chosen), str(script), requests or {}, given))


def _given(manifest: Dict[str, str]) -> workloads_plan.GivenManifest:
    try:
        text = Path(manifest["path"]).expanduser().read_text("utf-8")
    except (OSError, ValueError) as error:
        raise AnsibleFilterError(f"workloads: {manifest['path']} cannot be read: {error}") from error
    return workloads_plan.GivenManifest(text=text, **manifest)


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"workloads": workloads}
