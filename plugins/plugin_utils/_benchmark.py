# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The benchmark's pairs of pods, and its document, from the plan and what tasks have registered."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Dict, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark import judge, plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark.document import BenchmarkSettings
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark.runs import BenchmarkNodes
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.benchmark import BenchmarkDocument
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.plain import plain
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _inventory, _run, _strategy_answers

Map = Mapping[str, Any]


def planned(options: Map) -> Dict[str, Any]:
    """The result of ``benchmark_plan``."""
    tests = plan.BenchmarkTests(
        options["templates"],
        options["repetitions"],
        options["floor"],
        options["namespace"],
        {name: str(value) for name, value in options["environment"].items()},
    )
    found = plan.plan(*_strategy_answers.read(options["plan"]), tests)
    if found.problems:
        message = "\n".join(["No pod was created. Fix this first:", *found.problems])
        return {"failed": True, "msg": message, "problems": found.problems}
    return {**asdict(found), "lines": plan.text(found)}


def document(context: Map, options: Map, created: Optional[str] = None) -> BenchmarkDocument:
    hostvars = context["hostvars"]
    results = plain(options["results"])
    pairs = [plan.Pair(**result["item"]) for result in results]
    hosts = sorted({pod["node"] for pair in pairs for pod in pair.pods})
    facts = {host: _inventory.read_facts(host, hostvars[host]["ansible_facts"]["rdma"]) for host in hosts}
    nodes = BenchmarkNodes(facts, model.by_node(model.devices(plain(options["slices"]))))
    settings = BenchmarkSettings(
        plain(options["parameters"]), options["fraction"], plain(options["models"]), options["skipped"]
    )
    requests = _strategy_answers.read(options["plan"]).requests
    return judge.judge(pairs, results, requests, nodes, settings, _run.collection_version(), created)
