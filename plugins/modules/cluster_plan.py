#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_plan
short_description: Plan what a cluster needs so that the pods of a fleet get RDMA
version_added: 0.1.0
description:
  - Turns the variables and facts of all hosts of the play, and one look at the cluster, into the steps that
    M(zerocopy.rdma.cluster_apply) carries out, for all strategies (C(rdma_strategy)). Changes nothing.
  - The plan is written to a temporary file on the controller. Run this once for all hosts (C(run_once)).
  - With C(rdma_cluster=none), no API server is contacted, and the plan has manifests instead of steps.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.facts_module
  - zerocopy.rdma._cluster
  - kubernetes.core.k8s_auth_options
options:
  state:
    description:
      - V(present) plans what the inventory wants. V(absent) plans the removal of everything that this collection has
        applied.
      - V(preflight) only returns RV(problems) that are known without facts, and RV(leaving).
    type: str
    choices: [present, absent, preflight]
    default: present
  strategies:
    description: Names of strategies to plan. By default, all are planned, including those that no group has any more.
    type: list
    elements: str
    default: []
  wait:
    description:
      - Whether to wait until the DRA drivers publish the devices for which claims are planned, up to
        C(rdma_claims_wait_timeout) seconds without progress.
    type: bool
    default: false
  unready:
    description: Hosts whose driver is known not to work. O(wait) does not wait for them.
    type: list
    elements: str
    default: []
  published:
    description: Whether to return what the drivers publish as RV(published).
    type: bool
    default: false
seealso:
  - module: zerocopy.rdma.cluster_apply
"""

EXAMPLES = r"""
- name: Plan
  zerocopy.rdma.cluster_plan:
  register: plan
  run_once: true
  delegate_to: localhost

- name: Fail on invalid configuration
  ansible.builtin.fail:
    msg: "{{ plan.problems }}"
  when: plan.problems | length > 0
  run_once: true

- name: Apply
  zerocopy.rdma.cluster_apply:
    plan: "{{ plan.path }}"
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
problems:
  description: One line for each problem, with the hosts, the variable, its value and what would be correct.
  returned: success
  type: list
  elements: str
unprepared:
  description: Why drivers would not work on nodes as they are now. Empty in check mode.
  returned: O(state=present) and O(state=absent)
  type: list
  elements: str
warnings_shown:
  description: Problems that do not prevent applying the plan.
  returned: O(state=present) and O(state=absent)
  type: list
  elements: str
text:
  description: What pods can claim, and how it is aligned. Empty if RV(late).
  returned: O(state=present) and O(state=absent)
  type: str
differences:
  description: Differences between the devices that nodes publish and their facts. Empty if RV(late).
  returned: O(state=present) and O(state=absent)
  type: list
  elements: str
unmet:
  description:
    - For each host whose claims can be satisfied by the devices in its facts, but not by those that it publishes, why.
  returned: O(state=present) and O(state=absent)
  type: dict
late:
  description:
    - Whether claims have to be planned again, because drivers have not published all devices yet. The plan then has no
      steps for claims.
  returned: O(state=present) and O(state=absent)
  type: bool
leaving:
  description: For each node, the extended resources that it would lose. No pod may hold them.
  returned: O(state=preflight)
  type: dict
path:
  description: File of the plan on the controller. Empty if there are problems.
  returned: O(state=present) and O(state=absent)
  type: str
cluster:
  description: Whether the plan is for a cluster (C(rdma_cluster)).
  returned: O(state=present) and O(state=absent)
  type: bool
checks:
  description:
    - For each host whose node has to pass a check of its strategy before the cluster is changed, the role with this
      check (entry point C(node_check)).
  returned: O(state=present) and O(state=absent)
  type: dict
  sample: {v100-01: rdma_host_device}
images:
  description: Hosts on which images of their strategy are imported from archives.
  returned: O(state=present) and O(state=absent)
  type: list
  elements: str
charts:
  description:
    - Roles that install a DRA driver by its chart, after the steps for drivers and before those for claims (entry
      points C(chart_check) and C(chart), for the removal C(chart_helm) and C(chart_absent)).
  returned: O(state=present) and O(state=absent)
  type: list
  elements: str
  sample: [rdma_driver]
published:
  description: What M(zerocopy.rdma.resource_slice_info) returns.
  returned: O(published=true), where a strategy needs DRA
  type: dict
"""
