#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: workloads
short_description: Make example workloads that use RDMA, and show what to add to workloads of your own
version_added: 1.0.0
description:
  - Makes complete manifests for the pods of each group, which request RDMA as the strategy of the group prescribes, and
    writes them to files on the controller. Also returns, for each request, what has to be added to a pod of your own.
  - Fails without writing anything if an example cannot be made.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.state_module
attributes:
  platform:
    support: full
    platforms: posix
    details:
      - Runs on the controller.
options:
  plan:
    description: Directory of a plan with a part for the cluster (M(zerocopy.rdma.plan)).
    type: path
    required: true
  script:
    description: Content of C(rdma-env.sh), with which the containers start.
    type: str
    required: true
  settings:
    description:
      - Settings of the site. C(images) (with the keys C(vllm), C(sglang), C(ray) and C(nccl_tests)) and C(model) are
        required. C(namespace), C(gpus), C(gpu_resource), C(gpu_resources), C(shm), C(environment), C(check) and
        C(check_image) are optional. They mean the same as the variables C(rdma_workloads_*) of the role
        P(zerocopy.rdma.rdma_workloads#role); C(gpu_resources) is C(rdma_gpu_resources). C(amd_images) replace C(images)
        in groups whose GPUs are all AMD's.
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
  directory:
    description: Directory for the files. By default, nothing is written.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Make the examples
  zerocopy.rdma.workloads:
    plan: "{{ plan.directory }}"
    script: "{{ lookup('ansible.builtin.file', 'rdma-env.sh', rstrip=false) }}"
    settings:
      model: Qwen/Qwen3-8B
      images:
        vllm: docker.io/vllm/vllm-openai:v0.12.0
        sglang: docker.io/lmsysorg/sglang:v0.5.5
        ray: docker.io/rayproject/ray:2.49.0-py312-gpu
        nccl_tests: ""
  register: made
  run_once: true

- name: Show what a pod of each group needs
  ansible.builtin.debug:
    msg: "{{ made.adds }}"
  run_once: true
"""

RETURN = r"""
examples:
  description:
    - One entry for each file, with its C(path), the C(content) of the file, and the C(objects) in it (empty for a
      manifest of O(manifests)).
  returned: success
  type: list
  elements: dict
paths:
  description: The files on the controller.
  returned: O(directory) is set
  type: list
  elements: str
adds:
  description:
    - For each group and request, what is added to a pod. These are C(annotations), C(pod) (its C(spec)) and
      C(container). The init container of C(check) needs the image of your container, unless C(check_image) is set.
  returned: success
  type: dict
problems:
  description: One line for each problem that prevents making the examples.
  returned: always
  type: list
  elements: str
"""
