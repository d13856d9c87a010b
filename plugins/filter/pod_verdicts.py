# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: pod_verdicts
short_description: Judge what pods were given and measured
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Compares what pods were given, saw and measured with what they requested and with the facts of their nodes. Also
    compares the facts after the pods have run with the facts before.
positional: results, plan, slices, before, after
options:
  _input:
    description: The pods of all waves, from P(zerocopy.rdma.pod_plan#filter).
    type: list
    elements: dict
    required: true
  results:
    description: What M(zerocopy.rdma.pod_probe) returned for these pods.
    type: list
    elements: dict
    required: true
  plan:
    description: Directory of a plan with a part for the cluster (M(zerocopy.rdma.plan)).
    type: raw
    required: true
  slices:
    description: The ResourceSlices of the cluster before the pods were run.
    type: list
    elements: dict
    required: true
  before:
    description: Facts of each host before the pods were run.
    type: dict
    required: true
  after:
    description: Facts of each host after the pods were run.
    type: dict
    required: true
  in_use:
    description: What was in use on each node before the pods were run, RV(zerocopy.rdma.pod_probe#module:in_use).
    type: dict
    default: {}
  hostvars:
    description:
      - The magic variable C(hostvars). Bandwidth is judged by C(rdma_verify_fraction) and C(rdma_verify_gbps) of the
        node that measured it. Without this option, 0.9 of what the port can carry is required.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Judge the pods
  ansible.builtin.set_fact:
    found: "{{ __waves | flatten | zerocopy.rdma.pod_verdicts(__probed.pods, __plan, __cluster.slices, __before,
      __after) }}"
"""

RETURN = r"""
_value:
  description: C(checks) and C(bandwidth), as in the document of P(zerocopy.rdma.rdma_verify#role).
  type: dict
"""

from dataclasses import asdict
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from jinja2 import pass_context

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import verify
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import plan as pod_waves
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import report as pod_report
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import verdicts
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.allocation import PodNode
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.bandwidth import PodMeter
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _inventory, _strategy_answers, _verify_inventory

_FRACTION = 0.9


def _facts(by_host: Mapping[str, Any]) -> Dict[str, Facts]:
    return {host: _inventory.read_facts(host, facts) for host, facts in by_host.items() if facts}


def _limits(
    context: Mapping[str, Any], hostvars: Mapping[str, Mapping[str, Any]], hosts: List[str]
) -> Dict[str, Tuple[float, Optional[float]]]:
    """Fraction and, if any, Gb/s that each host demands."""
    nodes = _verify_inventory.nodes(context, [host for host in hosts if host in hostvars], hostvars)
    default: Tuple[float, Optional[float]] = (_FRACTION, None)
    found = {
        node.host: (float(node.values["rdma_verify_fraction"]), node.values.get("rdma_verify_gbps")) for node in nodes
    }
    return {host: found.get(host, default) for host in hosts}


@pass_context
def pod_verdicts(
    context: Mapping[str, Any],
    pods: List[Dict[str, Any]],
    results: List[Dict[str, Any]],
    plan: Mapping[str, Any],
    slices: List[Dict[str, Any]],
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    in_use: Optional[Mapping[str, List[Mapping[str, str]]]] = None,
    hostvars: Optional[Mapping[str, Mapping[str, Any]]] = None,
) -> Dict[str, List[Dict[str, Any]]]:
    objects, asks = _strategy_answers.read(plan)
    published = model.by_node(model.devices(slices))
    known = {pod.name: pod for pod in map(pod_waves.pod_of, pods)}
    reports = {result["name"]: pod_report.report(result["output"]) for result in results}
    had, has = _facts(before), _facts(after)
    checks: List[verify.Check] = []
    measured: List[verify.Measurement] = []
    limits = _limits(context, hostvars or {}, sorted({pod.node for pod in known.values()}))
    for result in results:
        pod, report = known[result["name"]], reports[result["name"]]
        busy = (in_use or {}).get(pod.node, [])
        node = PodNode(had.get(pod.node, Facts()), has.get(pod.node), published.get(pod.node, {}), busy)
        request = pod_waves.request_of(pod, asks.get(pod.group, []))
        if request is None:
            checks += verdicts.of_nothing(pod, result, report, node)
            continue
        checks += verdicts.checks(pod, request, pod_waves.claimed(pod, objects), result, report, node)
        meter = PodMeter(pod, report, had, *limits[pod.node])
        found = meter.untried() + meter.loopback()
        if pod.peer and report.complete:
            found += meter.between(known[pod.peer], reports[pod.peer])
        checks += [entry for entry in found if isinstance(entry, verify.Check)]
        measured += [entry for entry in found if isinstance(entry, verify.Measurement)]
    return {
        "checks": [asdict(check) for check in checks],
        "bandwidth": [verify.plain_measurement(measurement) for measurement in measured],
    }


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"pod_verdicts": pod_verdicts}
