#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: report
short_description: Combine what was found on all hosts into a report, and write it to files
version_added: 1.0.0
description:
  - Reads what other tasks have registered for the hosts of the play, on the controller. Connects to no host. Run it
    once (C(run_once)).
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
attributes:
  check_mode:
    support: full
    details:
      - With V(drift) and V(audit), files are written in check mode as well, and are never counted as a change. Files of
        the others are not written, and not counted either.
  diff_mode:
    support: none
  platform:
    support: full
    platforms: posix
    details:
      - Runs on the controller.
options:
  kind:
    description:
      - V(verify) is the report of the role P(zerocopy.rdma.rdma_verify#role), with the checks and measurements that
        M(zerocopy.rdma.verify) has kept, and the facts of the hosts. C(docs/verify-report.schema.json) describes
        C(verify.json).
      - V(fleet) is the page of this report with nothing but the facts of the hosts.
      - V(drift) shows how nodes differ from the plan, as the role P(zerocopy.rdma.rdma_drift#role) found. Identical
        differences are shown once. In check mode and in diff mode, the text has each address of the links that a run
        would change. In diff mode, it also shows all differences, once for hosts that differ from each other in their
        own addresses and MAC addresses only.
      - V(revert) has what C(zerocopy.rdma.teardown) leaves on nodes, by host, such as files that somebody has edited.
      - V(site) has a few lines about a run of C(zerocopy.rdma.site), which say how many nodes of each group were
        changed, were left unchanged or failed, what was done to objects of the cluster, and how to verify the result.
      - V(audit) is the result of M(zerocopy.rdma.workload_audit_info).
      - V(benchmark) reads the logs of pairs of pods. A transfer that did not go over the NICs that the pod was given is
        an error, not a result. It summarises the runs of each template, and compares them with the group's unaligned
        template and with what ports can carry. C(docs/benchmark.schema.json) describes C(benchmark.json).
      - V(health) is a table of the NICs that M(zerocopy.rdma.health) has found sick, with what became of their rules.
        C(docs/health.schema.json) describes C(health.json). It adds to C(state.json) which rules have changed.
    type: str
    choices: [verify, fleet, drift, revert, site, audit, benchmark, health]
    required: true
  hosts:
    description: Hosts that the report is about. By default, all hosts of the play.
    type: list
    elements: str
    default: []
  run:
    description:
      - RV(zerocopy.rdma.verify#module:run), required for V(verify).
      - RV(zerocopy.rdma.health#module:run), required for V(health).
    type: str
  directory:
    description:
      - Directory for the report of V(verify), which is created. C(verify.json) has all results, C(verify.xml) is for CI
        (JUnit), and C(verify.html) is for people. If there is a C(verify.json) of an earlier run, the report says what
        is new and what is gone since.
      - For V(benchmark), it has C(benchmark.json) and C(benchmark.html), for V(health) C(health.json) and
        C(health.html).
    type: str
  metrics:
    description: File for the metrics of V(verify) or V(health) in Prometheus' text format.
    type: str
  json:
    description: File for the data of V(drift) or V(audit).
    type: str
  html:
    description: File for the page of V(fleet) or V(audit).
    type: str
  found:
    description:
      - The result of M(zerocopy.rdma.workload_audit_info), for V(audit).
      - The result of M(zerocopy.rdma.device_taints), for V(health); nothing if it was not run.
    type: dict
    default: {}
  results:
    description:
      - Results of M(zerocopy.rdma.pod_probe) in a loop over RV(zerocopy.rdma.benchmark_plan#module:pairs), for
        V(benchmark). If the module failed, a result has no RV(zerocopy.rdma.pod_probe#module:pods), and the reason is
        in C(msg).
    type: list
    elements: dict
    default: []
  plan:
    description: Directory of a plan with a part for the cluster (M(zerocopy.rdma.plan)), for V(benchmark).
    type: path
  slices:
    description: The ResourceSlices of the cluster, for V(benchmark).
    type: list
    elements: dict
    default: []
  fraction:
    description: Fraction of what ports can carry that V(benchmark) requires.
    type: float
    default: 0.7
  models:
    description: Models in the KV table of V(benchmark), as C(rdma_benchmark_models) of the role.
    type: list
    elements: dict
    default: []
  skipped:
    description: RV(zerocopy.rdma.benchmark_plan#module:skipped), to be shown by V(benchmark).
    type: list
    elements: str
    default: []
  parameters:
    description:
      - How V(benchmark) was measured, to be shown in its report. If C(operations) and C(block_sizes) are among
        them, each missing result is an error.
    type: dict
    default: {}
seealso:
  - module: zerocopy.rdma.verify
"""

EXAMPLES = r"""
- name: Look at the differences of all hosts together
  zerocopy.rdma.report:
    kind: drift
    json: drift.json
  register: drift
  run_once: true

- name: Show them
  ansible.builtin.debug:
    msg: "{{ drift.text.splitlines() }}"
  run_once: true
"""

RETURN = r"""
paths:
  description: The files of the report on the controller. Empty in check mode if they are not written.
  returned: success
  type: list
  elements: str
counts:
  description: Number of checks by verdict, of V(health) the number of NICs by state.
  returned: V(verify) and V(health)
  type: dict
text:
  description: The report for a terminal.
  returned: V(verify) and V(drift)
  type: str
failure:
  description: Why verify, health or the benchmark fails. Empty if it does not.
  returned: V(verify), V(health) and V(benchmark)
  type: str
lines:
  description: The summary. Empty for O(kind=site) if the run concerned neither nodes nor the cluster, and for
    O(kind=revert) if nothing is left.
  returned: O(kind=revert), O(kind=site) and O(kind=benchmark)
  type: list
  elements: str
differ:
  description: Names of the hosts that differ or have a concern that could not be compared.
  returned: O(kind=drift)
  type: list
  elements: str
silent:
  description: Names of the hosts that have no result.
  returned: O(kind=drift)
  type: list
  elements: str
blocked:
  description:
    - Why a host, or concerns of it, could not be compared, by host. Such a host fails, and is not changed. Errors whose
      cause an earlier change of the same run may remove are left out.
  returned: O(kind=drift)
  type: dict
kinds:
  description: Hosts of a group that differ in the same way, with C(group), C(hosts), and C(concerns) as text.
  returned: O(kind=drift)
  type: list
  elements: dict
hosts:
  description: For each host, its C(group), whether it C(differs), and its C(concerns) as in M(zerocopy.rdma.node).
  returned: O(kind=drift)
  type: dict
"""
