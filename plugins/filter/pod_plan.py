# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: pod_plan
short_description: Plan the pods that test how each group gets RDMA
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Plans, for each group, a pod on some of its nodes for each way in which pods can request RDMA, and pods that must
    get no device. Pods that may run at the same time form a wave. Of two neighbouring pods, the second one measures the
    bandwidth to the first.
positional: ""
options:
  _input:
    description: Directory of a plan with a part for the cluster (M(zerocopy.rdma.plan)).
    type: raw
    required: true
  sample:
    description: Number of nodes of each group, V(0) for all.
    type: int
    default: 2
  bandwidth:
    description: Whether neighbouring pods measure the bandwidth.
    type: bool
    default: true
  loopback:
    description: Whether pods measure each of their ports to itself.
    type: bool
    default: true
  namespace:
    description: Namespace of pods whose request is possible in any namespace.
    type: str
    default: default
"""

EXAMPLES = r"""
- name: Run the first wave
  zerocopy.rdma.pod_probe:
    pods: "{{ __waves[0] | map(attribute='pod') }}"
    image: registry.example.org/rdma-tools:1
    script: ls /dev/infiniband
  vars:
    __plan: "{{ plan.directory }}"
    __waves: "{{ __plan | zerocopy.rdma.pod_plan }}"
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
_value:
  description:
    - The waves. Each entry has the C(pod) as an option of M(zerocopy.rdma.pod_probe), its C(group), the C(alias) of its
      request (V(nothing) for a pod that requests nothing, V(without-gpu) for a pod that requests the NICs nearest to
      its GPUs and has no GPU), and the C(entry) of the inventory to which the request belongs.
  type: list
  elements: list
"""

from typing import Any, Callable, Dict, List, Mapping

from ansible.module_utils.parsing.convert_bool import boolean

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import plan as pod_waves
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _strategy_answers


def pod_plan(
    plan: Mapping[str, Any],
    sample: int = 2,
    bandwidth: bool = True,
    loopback: bool = True,
    namespace: str = "default",
) -> List[List[Dict[str, Any]]]:
    # Values set with -e are strings.
    tests = pod_waves.PodTests(int(sample), boolean(bandwidth), boolean(loopback), namespace)
    waves = pod_waves.waves(*_strategy_answers.read(plan), tests)
    return [[pod_waves.plain(pod) for pod in wave] for wave in waves]


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"pod_plan": pod_plan}
