#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: verify
short_description: Plan the tests of a fleet, and judge their results
version_added: 1.0.0
description:
  - Does the parts of the role P(zerocopy.rdma.rdma_verify#role) that concern all hosts together, on the controller.
    Between these parts, the role runs tests on nodes and in pods. Connects to no host, and changes nothing.
  - Plans and results are kept in a directory of the run, from which M(zerocopy.rdma.report) makes the report.
  - Run each part but V(own) once (C(run_once)).
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
  part:
    description:
      - V(begin) makes the directory of the run.
      - V(plan) plans the tests between hosts, from the facts and the variables C(rdma_verify_*) of all hosts. The hosts
        of a group are measured in rounds, in each of which a host is in at most one pair. Measurements are between
        rails of the same number. Whether different rails reach each other is tried in rounds of their own.
      - V(own) returns the tests of one host, as options of M(zerocopy.rdma.rdma_reachability) and
        M(zerocopy.rdma.rdma_bandwidth).
      - V(host) compares the facts of all hosts with the inventory, turns what the role
        P(zerocopy.rdma.rdma_drift#role) found into checks, and judges the results of the tests on the hosts.
      - V(cluster) checks whether DRANET runs and publishes what the facts say, whether objects are still as applied,
        and whether nodes show what their strategy provides. It reads what the role P(zerocopy.rdma.rdma_provision#role)
        has found in check mode.
      - V(pods_plan) plans, for each group, a pod on some of its nodes for each way in which pods can request RDMA, and
        pods that must get no device. Pods that may run at the same time form a wave. Of two neighbouring pods, the
        second one measures the bandwidth to the first.
      - V(pods) compares what pods were given, saw and measured with what they requested and with the facts of their
        nodes, and the facts after the pods with those before.
      - V(transfers) reads from the logs of running pods how many KV caches they transfer (vLLM), and which network NCCL
        or RCCL uses.
    type: str
    choices: [begin, plan, own, host, cluster, pods_plan, pods, transfers]
    required: true
  run:
    description:
      - RV(run) as V(begin) returned it. Without it, RV(checks) and RV(bandwidth) are returned instead of being kept.
    type: str
    default: ""
  hosts:
    description: Hosts to plan for or to judge. By default, all hosts of the play.
    type: list
    elements: str
    default: []
  benchmark:
    description: Path of a document of the role P(zerocopy.rdma.rdma_benchmark#role), to be shown in the same report.
    type: str
  untried:
    description: For V(host), why no tests were run on the hosts. Empty if they were run.
    type: str
    default: ""
  found:
    description:
      - What V(cluster) judges. Lists with the C(nodes) and C(daemon_sets) of the cluster, the C(pods) of DRANET,
        the C(states) (SriovNetworkNodeState) of the SR-IOV operator, and the C(gpu_clusters) (GPUCluster) of the GPU
        Operator.
    type: dict
    default: {}
  published:
    description: What M(zerocopy.rdma.resource_slice_info) returned, for V(cluster).
    type: dict
    default: {}
  failure:
    description: Why V(cluster) has nothing to judge, with the C(task) of provision that failed and the C(reason).
    type: dict
  plan:
    description: Directory of a plan with a part for the cluster (M(zerocopy.rdma.plan)), for V(pods_plan) and V(pods).
    type: path
  sample:
    description: Number of nodes of each group on which pods are run. V(0) means all.
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
  slices:
    description: The ResourceSlices of the cluster before the pods were run.
    type: list
    elements: dict
    default: []
  probed:
    description: Results of M(zerocopy.rdma.pod_probe) for each of RV(waves), with the wave as C(item).
    type: list
    elements: dict
    default: []
  node:
    description: If set, only the pods on this node are judged, by its current facts.
    type: str
    default: ""
  logs:
    description:
      - Results of M(kubernetes.core.k8s_log) in a loop whose C(item) is a list with the pod as second entry, as
        C(subelements) makes it.
    type: list
    elements: dict
    default: []
seealso:
  - module: zerocopy.rdma.report
"""

EXAMPLES = r"""
- name: Judge hosts by facts and inventory alone
  zerocopy.rdma.verify:
    part: host
    untried: no tests were run
  register: found
  run_once: true

- name: Show what is wrong
  ansible.builtin.debug:
    msg: "{{ found.checks | rejectattr('verdict', 'eq', 'pass') }}"
  run_once: true
"""

RETURN = r"""
run:
  description: Directory on the controller, which Ansible removes at the end of the run.
  returned: O(part=begin)
  type: str
probes:
  description: Pings to send.
  returned: O(part=own)
  type: list
  elements: dict
ends:
  description: C(port) and C(peer) of each ping, by its name, and C(peer_port) if that is on another rail.
  returned: O(part=own)
  type: dict
addresses:
  description: Addresses for which to send ARP probes.
  returned: O(part=own)
  type: list
  elements: dict
loopback:
  description: Measurements from each port to itself, in the same format as a round.
  returned: O(part=own)
  type: dict
fabric_ports:
  description: Ports from which the links of their InfiniBand fabric are read.
  returned: O(part=own)
  type: list
  elements: dict
rounds:
  description:
    - For each round, C(role) (V(server), V(client) or V(idle)), C(peer), C(seconds), C(runs), the C(expected) bandwidth
      of each run in Gb/s, and whether its runs are between different rails (C(crosses)).
  returned: O(part=own)
  type: list
  elements: dict
waves:
  description:
    - The waves of pods. Each entry has the C(pod) as an option of M(zerocopy.rdma.pod_probe), its C(group), the
      C(alias) of its request (V(nothing) for a pod that requests nothing, V(without-gpu) for a pod that requests the
      NICs nearest to its GPUs and has no GPU), and the C(entry) of the inventory to which the request belongs.
  returned: O(part=pods_plan)
  type: list
  elements: list
nodes:
  description: Nodes on which pods are run.
  returned: O(part=pods_plan)
  type: list
  elements: str
checks:
  description:
    - Checks with C(ring), C(id), C(host), C(group), C(subject), C(verdict) (V(pass), V(warn), V(fail) or
      V(impossible)), C(text), C(evidence), C(remedy), and in C(mend) the code of the command that fixes it (empty if
      none does).
  returned: V(host), V(cluster), V(pods) and V(transfers), without O(run)
  type: list
  elements: dict
bandwidth:
  description:
    - Measurements with C(group), C(test), C(from), C(to), C(value), C(unit), C(expected), C(threshold), C(verdict) and
      C(text).
  returned: V(host), V(cluster), V(pods) and V(transfers), without O(run)
  type: list
  elements: dict
"""
