#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: plan
short_description: Plan what the nodes of a fleet and their cluster shall be, once for all of them
version_added: 1.0.0
description:
  - Turns the variables and RDMA facts of all hosts, and one look at the cluster, into one plan, on the controller.
    Changes nothing. Run it once (C(run_once)), after M(zerocopy.rdma.rdma_facts).
  - The plan is written to files that only the user can read, one for each host and one for each other part, in a
    temporary directory that Ansible removes at the end of the run. M(zerocopy.rdma.node) reads the file of its host,
    M(zerocopy.rdma.cluster_apply) that of the cluster, and a later call those of O(plan).
  - Variables of the play take precedence over the inventory, as usual.
  - With C(rdma_cluster=none), no API server is contacted, and its part of the plan has manifests instead of steps.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.facts_module
  - zerocopy.rdma._cluster
  - kubernetes.core.k8s_auth_options
attributes:
  platform:
    support: full
    details:
      - Runs on the controller.
options:
  parts:
    description:
      - Parts of the plan.
      - V(tags) only checks C(--tags) against the tags of this collection's playbooks that are run.
      - V(variables) is only what is wrong with the variables of the hosts of the play, by themselves and beside those
        of the whole inventory. It needs no facts.
      - V(access) is only what is wrong with the variables that say which cluster the hosts of the play are in, which
        must be the same on all of them.
      - V(strategies) is only RV(strategies), which takes variables alone.
      - V(api) fails if the API server cannot be used, or lacks an API that a strategy needs. It needs no facts.
      - V(node) has what the nodes themselves shall be, for the hosts of the batch (C(serial), by default the play) that
        have not failed, and finds what their facts do not allow.
      - V(waves) is the order in which nodes that differ are changed, after M(zerocopy.rdma.node) has compared them.
      - V(cluster) has what the cluster needs so that pods of all hosts of the play get RDMA, for all strategies
        (C(rdma_strategy)), also those that no group has any more.
      - V(ofed) is which nodes get the OFED driver of NVIDIA's Network Operator (C(rdma_ofed_deploy)) or lose it, in
        which waves, and what is in the way, from facts, results of M(zerocopy.rdma.driver_watch) and the cluster. In
        each group without a node that has the driver, one node is a wave of its own, before all other nodes. Nodes
        whose NICs pods use are left out.
      - V(policies) is the operator's policies for the hosts of O(plan), which has to have V(ofed).
      - V(move) is what is left to do to move O(hosts) to the strategy that they have in the inventory, in which waves.
        All state is in the cluster, so no result of an earlier run is needed.
      - V(moved) is what those hosts of the batch get that have left their old strategy, by O(plan), which has to have
        V(move). Fails if it cannot be planned. It asks the cluster nothing.
    type: list
    elements: str
    choices: [tags, variables, access, strategies, api, node, waves, cluster, ofed, policies, move, moved]
    required: true
  state:
    description:
      - V(present) plans what the inventory wants.
      - V(absent) plans to put the nodes back as they were before, which needs no facts, and to remove everything
        from the cluster that this collection has applied.
    type: str
    choices: [present, absent]
    default: present
  tolerant:
    description:
      - Whether nodes are only compared. What the facts of a host do not allow is then a warning, and the host is
        compared without links that cannot be planned. With V(false), such a host has no plan. For O(parts=node).
    type: bool
    default: false
  role:
    description:
      - Name of a role. Problems of variables of other roles are then returned as RV(postponed). This is for
        O(parts=variables).
    type: str
    default: ''
  ask:
    description:
      - What the cluster is asked for. V(all) is all that steps depend on. V(published) is only what DRA drivers
        publish, where a strategy needs it, and V(nothing) is nothing. M(zerocopy.rdma.cluster_apply) needs V(all).
    type: str
    choices: [all, published, nothing]
    default: all
  plan:
    description:
      - Directory of an earlier plan of this run. If it has a part for the cluster, nobody has used it, and no node was
        changed since then, the cluster is not asked again, and that part is returned, except with O(wait). Otherwise,
        RV(changes) has what is planned otherwise.
    type: str
    default: ''
  strategies:
    description: Names of strategies to plan in the cluster. By default, all are planned.
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
    description: Whether to return what the drivers publish as RV(published), and what is expected as RV(expected).
    type: bool
    default: false
  rights:
    description:
      - Parts for which M(zerocopy.rdma.cluster_rights_info) checks that the user has all rights. Missing rights are
        problems, in check mode only warnings, because what does not differ needs no change.
    type: list
    elements: str
    choices: [driver, claims]
    default: []
  hosts:
    description: Hosts to move, for O(parts=move).
    type: list
    elements: str
    default: []
  planned:
    description:
      - Whether O(parts=policies) is for the labels that nodes get by O(plan), instead of those that they have.
    type: bool
    default: false
  ramp:
    description: Sizes of the first waves, as C(rdma_serial). The last one holds for all that follow.
    type: raw
    default: [1, 10%, 25%]
seealso:
  - module: zerocopy.rdma.node
  - module: zerocopy.rdma.cluster_apply
"""

EXAMPLES = r"""
- name: Plan
  zerocopy.rdma.plan:
    parts: [node, cluster]
  register: plan
  run_once: true
  delegate_to: localhost

- name: Fail if something cannot be as it is planned
  ansible.builtin.fail:
    msg: "{{ plan.problems }}"
  when: plan.problems | length > 0
  run_once: true

- name: Compare each node with its plan
  zerocopy.rdma.node:
    plan: "{{ plan.directory }}"
    compare: true

- name: Apply
  zerocopy.rdma.cluster_apply:
    plan: "{{ plan.directory }}"
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
directory:
  description: Directory of the plan on the controller. It has no part for the cluster if there are problems.
  returned: success
  type: str
problems:
  description: One line for each problem, with the hosts, the variable, its value and what would be correct.
  returned: success
  type: list
  elements: str
changes:
  description: What O(parts=cluster) plans otherwise than the earlier plan O(plan), one line for each kind of change.
  returned: O(parts) has V(cluster)
  type: list
  elements: str
  sample: ["ResourceClaimTemplate default/h100-1gpu-1nic: not planned before"]
postponed:
  description: Problems of variables that O(role) does not use.
  returned: O(parts) has V(variables)
  type: list
  elements: str
unplanned:
  description:
    - Why nothing is planned for a host, by host, for example because its facts do not allow it. M(zerocopy.rdma.node)
      fails on these hosts. If no other host is left, RV(problems) has this instead.
  returned: O(parts) has V(node)
  type: dict
  sample: {h100-03: "h100-03: there are no facts about its HCAs"}
strategies:
  description:
    - What the variables alone say of the strategies. C(groups) has the strategy of each group, and C(requesting) that
      of each group whose pods can request RDMA. C(requested_by) has, for strategies whose pods can request nothing
      without it, the variable that says what. C(resources) has, for each strategy, the extended resources that groups
      have or had with it.
    - C(labels) are those by which the DaemonSets of all strategies select nodes, C(drivers) their DRA drivers, and
      C(driver_pods) C(namespace) and C(selector) of the pods of each DRA driver. C(objects) are those of operators, as
      an option of M(zerocopy.rdma.cluster_info).
  returned: O(parts) has V(strategies) or V(cluster)
  type: dict
waves:
  description: Hosts of each wave. In a move, hosts whose move has begun come first.
  returned: O(parts) has V(waves), V(ofed) or V(move)
  type: list
  elements: list
  sample: [[h100-01], [h100-02, h100-03]]
nodes:
  description:
    - For V(ofed), each host with something to do, with its C(name), whether it gets the driver (C(deploy)) or loses it,
      and the value of its label afterwards (C(to)) and without the driver (C(was)). C(loaded) says that an earlier run,
      which was stopped, has already given it the driver.
    - For V(move), each host to move, with its C(name), the strategy it has (C(away)), had when its move began (C(was)),
      and gets (C(to)), whether either strategy has a daemon on its nodes (C(daemons)), the RDMA netns mode that it
      shall have (C(netns_mode), empty for any), the labels to set or remove (C(off)), the pods that have to end
      (C(users)), and the C(mark) of a move that has begun, as M(zerocopy.rdma.node_move_info) returns it. The C(state)
      is V(todo) (not begun), V(cordoned) (pods still use RDMA), V(drained) (no pod uses RDMA), V(left) (the node has no
      strategy), V(switched) (the node has the new strategy and is still cordoned) or V(done).
  returned: O(parts) has V(ofed) or V(move)
  type: dict
  sample:
    v100-01: {name: v100-01, deploy: true, to: v100.ofed, was: v100.operator, loaded: false}
names:
  description:
    - Names of labels. C(label) selects the operator's policy for a node. C(trial) is on a node from the moment that it
      is cordoned until it is uncordoned. C(waits) is set to V(false) by the operator when its driver is ready on the
      node. C(pods) is on the driver's pods.
  returned: O(parts) has V(ofed)
  type: dict
refused:
  description: For each host that is in no wave because of something on its node, one line for each obstacle.
  returned: O(parts) has V(ofed) or V(move)
  type: dict
finish:
  description: Whether, once these hosts have moved, no node needs the objects of its old strategy any more.
  returned: O(parts) has V(move)
  type: bool
ours:
  description: Labels by which the DaemonSets of all strategies select nodes.
  returned: O(parts) has V(ofed) or V(move)
  type: list
  elements: str
drivers:
  description: DRA drivers of all strategies.
  returned: O(parts) has V(ofed) or V(move)
  type: list
  elements: str
resources:
  description: Extended resources that are NICs.
  returned: O(parts) has V(ofed) or V(move)
  type: list
  elements: str
gpu_resources:
  description: Extended resources that are GPUs, besides those with well-known names (C(rdma_gpu_resources)).
  returned: O(parts) has V(ofed) or V(move)
  type: list
  elements: str
answers:
  description:
    - A title, and one line for each group with the questions that lead to a strategy, as far as its facts answer them,
      and whether its strategy fits.
  returned: O(parts) has V(cluster)
  type: list
  elements: str
requests:
  description:
    - For each group, the ways in which its pods can request RDMA, as M(zerocopy.rdma.workload_manifests) takes them.
  returned: O(parts) has V(cluster)
  type: dict
device_plugin_gpus:
  description: For each node, the GPUs that a device plugin allocates although a DRA driver is to be installed.
  returned: O(ask=all) with a cluster
  type: dict
ofed:
  description: Hosts whose nodes have the OFED driver of NVIDIA's Network Operator.
  returned: O(ask=all)
  type: list
  elements: str
sets:
  description: Sets of objects (M(zerocopy.rdma.applyset)), with C(name), C(namespace) and C(objects).
  returned: O(parts) has V(policies) or V(moved)
  type: list
  elements: dict
unknown:
  description: Hosts that may need further objects, because nothing is known of them.
  returned: O(parts) has V(policies)
  type: list
  elements: str
labels:
  description: For each host, the labels that its node gets.
  returned: O(parts) has V(moved)
  type: dict
counters:
  description: For each host, the extended resources that its node gets and that no device plugin offers.
  returned: O(parts) has V(moved)
  type: dict
status:
  description: For each host, what its node then shows, as O(zerocopy.rdma.node_move#module:status).
  returned: O(parts) has V(moved)
  type: dict
expected:
  description:
    - For each host, what DRA drivers should publish, as M(zerocopy.rdma.resource_slice_info) takes it.
  returned: O(published=true)
  type: dict
unprepared:
  description:
    - By host, why the driver would not work on its node as the node is now. The node keeps its labels, unless O(parts)
      has V(node) as well. Empty in check mode.
  returned: O(parts) has V(cluster)
  type: dict
left_out:
  description: Hosts that have failed in this run. Their nodes are left as they are in the cluster.
  returned: O(parts) has V(cluster)
  type: list
  elements: str
warnings_shown:
  description: Problems that do not prevent applying the plan.
  returned: O(parts) has V(cluster)
  type: list
  elements: str
text:
  description: What pods can claim, and how it is aligned (empty if RV(late)), or the plan of V(ofed) or V(move).
  returned: O(parts) has V(cluster), V(ofed) or V(move)
  type: str
differences:
  description: Differences between the devices that nodes publish and their facts. Empty if RV(late).
  returned: O(parts) has V(cluster)
  type: list
  elements: str
unmet:
  description:
    - For each host whose claims can be satisfied by the devices in its facts, but not by those that it publishes, why.
      The same for a host whose GPUs cannot be handed out yet, because their driver does not publish them.
  returned: O(parts) has V(cluster)
  type: dict
late:
  description:
    - Whether claims have to be planned again, because drivers have not published all devices yet. The plan then has no
      steps for claims.
  returned: O(parts) has V(cluster)
  type: bool
leaving:
  description: For each node, the extended resources that it would lose. No pod may hold them.
  returned: O(parts) has V(cluster)
  type: dict
cluster:
  description: Whether the plan is for a cluster (C(rdma_cluster)).
  returned: O(parts) has V(cluster)
  type: bool
checks:
  description:
    - For each host whose node has to pass a check of its strategy before the cluster is changed, the role with this
      check (entry point C(node_check)).
  returned: O(parts) has V(cluster)
  type: dict
  sample: {v100-01: rdma_host_device}
images:
  description: Hosts on which images of their strategy are imported from archives.
  returned: O(parts) has V(cluster)
  type: list
  elements: str
charts:
  description:
    - Roles that install a DRA driver by its chart, after the steps for drivers and before those for claims (entry
      points C(chart_check) and C(chart), for the removal C(chart_helm) and C(chart_absent)).
  returned: O(parts) has V(cluster)
  type: list
  elements: str
  sample: [rdma_driver]
published:
  description: What DRA drivers publish, as M(zerocopy.rdma.resource_slice_info) returns it.
  returned: O(published=true), and a strategy that needs it
  type: dict
"""
