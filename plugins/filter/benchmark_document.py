# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: benchmark_document
short_description: Judge and summarise measured KV-cache transfers
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Reads the logs of pairs of pods. A transfer that did not go over the NICs that the pod was given is an error, not a
    result.
  - Summarises the runs of each template, and compares them with the group's unaligned template and with what ports can
    carry.
positional: results, plan, slices, hostvars, settings, created
options:
  _input:
    description: The pairs, from P(zerocopy.rdma.benchmark_plan#filter).
    type: list
    elements: dict
    required: true
  results:
    description:
      - For each pair, the result of M(zerocopy.rdma.pod_probe). If the module failed, the result has no
        RV(zerocopy.rdma.pod_probe#module:pods), and the reason is in C(msg).
    type: list
    elements: dict
    required: true
  plan:
    description: Directory of a plan with a part for the cluster (M(zerocopy.rdma.plan)).
    type: raw
    required: true
  slices:
    description: The ResourceSlices of the cluster.
    type: list
    elements: dict
    required: true
  hostvars:
    description: The magic variable C(hostvars), for the facts and the claim templates of the hosts.
    type: dict
    required: true
  settings:
    description:
      - The required C(fraction) of what ports can carry, and the C(parameters) to be shown. Optionally, the C(models)
        of the KV table, and lines that say what was C(skipped). If the parameters include C(operations) and
        C(block_sizes), each missing result is an error.
    type: dict
    required: true
  created:
    description: Time of the run in ISO 8601.
    type: str
"""

EXAMPLES = r"""
- name: Summarise the measurements
  ansible.builtin.set_fact:
    found: "{{ __pairs | zerocopy.rdma.benchmark_document(__results, __plan, [], hostvars, __settings) }}"
  vars:
    __settings: {fraction: 0.7, parameters: {}}
"""

RETURN = r"""
_value:
  description:
    - The C(document), whose schema is C(docs/benchmark.schema.json), and its summary in C(lines) of text.
  type: dict
"""

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark import document
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark.plan import FLOOR as FLOOR_NAME
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark.plan import Pair
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark.runs import (
    BenchmarkJudge,
    BenchmarkNodes,
    Found,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import benchmark
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.benchmark import BASELINE, FLOOR, RDMA
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model as slice_model
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.plain import plain
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _inventory, _run, _strategy_answers


def _nodes(hosts: List[str], hostvars: Mapping[str, Any], slices: List[Dict[str, Any]]) -> BenchmarkNodes:
    facts = {host: _inventory.read_facts(host, hostvars[host]["ansible_facts"]["rdma"]) for host in hosts}
    return BenchmarkNodes(facts, slice_model.by_node(slice_model.devices(slices)))


def _kind(pair: Pair, hostvars: Mapping[str, Any]) -> str:
    if pair.alias == FLOOR_NAME:
        return FLOOR
    templates = hostvars[pair.pods[0]["node"]].get("rdma_claims_templates") or []
    aligns = [entry.get("align") for entry in templates if entry.get("name") == pair.entry]
    return BASELINE if BASELINE in aligns else RDMA


def _asked(settings: document.BenchmarkSettings, name: str) -> Sequence[Any]:
    found: Sequence[Any] = settings.parameters.get(name, ())
    return found


def benchmark_document(
    pairs: List[Dict[str, Any]],
    results: Sequence[Mapping[str, Any]],
    plan: Mapping[str, Any],
    slices: List[Dict[str, Any]],
    hostvars: Mapping[str, Mapping[str, Any]],
    settings: Mapping[str, Any],
    created: Optional[str] = None,
) -> Dict[str, Any]:
    known = [Pair(**pair) for pair in plain(pairs)]
    asks = _strategy_answers.read(plan).asks
    nodes = _nodes(sorted({pod["node"] for pair in known for pod in pair.pods}), hostvars, slices)
    found: Found = []
    # Values set with -e are strings.
    chosen = document.BenchmarkSettings(**{**plain(settings), "fraction": float(settings["fraction"])})
    wanted = [(name, int(size)) for name in _asked(chosen, "operations") for size in _asked(chosen, "block_sizes")]
    for pair, result in zip(known, results):
        request = next(
            (request for request in asks[pair.group] if request.name == pair.alias and not request.claim), None
        )
        judge = BenchmarkJudge(pair, _kind(pair, hostvars), request, nodes, wanted)
        if "pods" in result:
            found += judge.runs(*result["pods"])
        else:
            found.append(judge.fault(str(result.get("msg") or "its pods could not be run")))
    made = document.document(found, chosen, _run.collection_version(), created)
    return {"document": benchmark.plain(made), "lines": document.text(made)}


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"benchmark_document": benchmark_document}
