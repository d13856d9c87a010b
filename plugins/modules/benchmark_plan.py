#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_plan
short_description: Plan the pairs of pods that measure KV-cache transfers
version_added: 1.0.0
description:
  - Plans two pods on two nodes of a group for each way in which its pods can request RDMA, and for TCP, for each
    repetition. Pairs are meant to be run one at a time.
  - Fails if nothing can be run.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.facts_module
attributes:
  platform:
    support: full
    details:
      - Runs on the controller.
options:
  plan:
    description: Directory of a plan with a part for the cluster (M(zerocopy.rdma.plan)).
    type: path
    required: true
  templates:
    description: Names of claim templates or extended resources. By default all.
    type: list
    elements: str
    default: []
  repetitions:
    description: Number of pairs for each template.
    type: int
    default: 3
  floor:
    description: Whether a pair without NICs measures TCP.
    type: bool
    default: true
  namespace:
    description: Namespace of pods whose request is possible in any namespace.
    type: str
    default: default
  environment:
    description: Environment variables for the pods. They take precedence over those in O(plan).
    type: dict
    default: {}
seealso:
  - module: zerocopy.rdma.pod_probe
  - module: zerocopy.rdma.report
"""

EXAMPLES = r"""
- name: Plan one pair for each template
  zerocopy.rdma.benchmark_plan:
    plan: "{{ plan.directory }}"
    repetitions: 1
  register: planned
  run_once: true

- name: Show which pairs would run
  ansible.builtin.debug:
    msg: "{{ planned.lines }}"
  run_once: true
"""

RETURN = r"""
pairs:
  description:
    - The pairs, each with its C(group), C(entry) (the name in the inventory), C(alias) (of the request), C(repetition)
      and two C(pods) for M(zerocopy.rdma.pod_probe), the target first.
  returned: success
  type: list
  elements: dict
skipped:
  description: Which requests have no pair, and why.
  returned: success
  type: list
  elements: str
problems:
  description: Why nothing can be run.
  returned: always
  type: list
  elements: str
lines:
  description: The plan as text.
  returned: success
  type: list
  elements: str
"""
