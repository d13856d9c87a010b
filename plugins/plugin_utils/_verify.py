# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The parts of verify, from variables, facts and what tasks have registered."""

from __future__ import annotations

import contextlib
from dataclasses import asdict
from typing import Any, Callable, Dict, List, Mapping, Sequence

from ansible.errors import AnsibleFilterError

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.cluster import judge as cluster_judge
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import RingResult
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import crossing, partitions
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import judge as host_judge
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import plan as host_plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import judge as pod_judge
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import plan as pod_plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.plain import plain
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import (
    _groups,
    _inventory,
    _provisioned,
    _strategy_answers,
    _strategy_inventory,
    _verify_inventory,
    _verify_run,
)

Map = Mapping[str, Any]


def _hosts(context: Map, options: Map) -> List[str]:
    return [str(host) for host in options.get("hosts") or context["ansible_play_hosts_all"]]


def begin(_context: Map, options: Map) -> Dict[str, Any]:
    return {"run": _verify_run.begin(options["benchmark"])}


def plan(context: Map, options: Map) -> Dict[str, Any]:
    nodes = _verify_inventory.nodes(context, _hosts(context, options), context["hostvars"])
    forks = int(context.get("ansible_forks") or 5)
    tests = crossing.with_rails(nodes, host_plan.plan(nodes, forks), forks)
    _verify_run.write_tests(options["run"], {host: asdict(own) for host, own in tests.items()})
    return {}


def own(context: Map, options: Map) -> Dict[str, Any]:
    return _verify_run.tests(options["run"], str(context["inventory_hostname"]))


def host(context: Map, options: Map) -> RingResult:
    hosts, run = _hosts(context, options), options["run"]
    nodes = _verify_inventory.nodes(context, hosts, context["hostvars"])
    tests = {name: host_plan.own(_verify_run.tests(run, name)) for name in hosts} if run else {}
    return host_judge.judge(nodes, tests, options["untried"], _verify_run.now() if run else None)


def cluster(context: Map, options: Map) -> RingResult:
    if str(context.get("rdma_cluster") or "kubernetes") == "none":
        return cluster_judge.without()
    failure = options["failure"]
    if failure:
        return cluster_judge.not_compared(str(failure["task"]), str(failure["reason"]))
    hostvars = context["hostvars"]
    hosts = _strategy_inventory.hosts(context, _hosts(context, options), hostvars)
    found, published = plain(options["found"]), plain(options["published"])
    evidence = cluster_judge.ClusterEvidence(
        **found,
        slices=published.get("slices") or [],
        compared=published.get("nodes") or {},
        sets=plain(_provisioned.objects(hostvars[str(context["inventory_hostname"])])),
    )
    more = (context.get(name) or () for name in ("rdma_gpu_resources", "rdma_audit_resources"))
    return cluster_judge.judge(hosts, _inventory.options(context), evidence, *more)


def pods_plan(_context: Map, options: Map) -> Dict[str, Any]:
    tests = pod_plan.PodTests(options["sample"], options["bandwidth"], options["loopback"], options["namespace"])
    waves = pod_plan.waves(*_strategy_answers.read(options["plan"]), tests)
    nodes = dict.fromkeys(pod.node for wave in waves for pod in wave)
    return {"waves": [[pod_plan.plain(pod) for pod in wave] for wave in waves], "nodes": list(nodes)}


def _facts(host: str, sent: Any) -> Dict[str, Facts]:
    # The host ring tells what is wrong with facts that cannot be used.
    with contextlib.suppress(AnsibleFilterError):
        return {host: _inventory.read_facts(host, sent)} if sent else {}
    return {}


def _pod_evidence(context: Map, options: Map, nodes: Sequence[str]) -> pod_judge.PodEvidence:
    hostvars = context["hostvars"]
    before: Dict[str, Facts] = {}
    after: Dict[str, Facts] = {}
    known = [node for node in nodes if node in hostvars]
    for node in known:
        if options["node"]:
            before.update(_facts(node, variables.sent(hostvars[node])))
            continue
        before.update(_facts(node, _inventory.raw(hostvars[node], "__rdma_verify_before")))
        again = _inventory.raw(hostvars[node], "__rdma_verify_after") or {}
        after.update(_facts(node, (again.get("ansible_facts") or {}).get("rdma")))
    own = _verify_inventory.nodes(context, known, hostvars)
    demands = {
        node.host: (float(node.values["rdma_verify_fraction"]), node.values.get("rdma_verify_gbps")) for node in own
    }
    wanted = {node.host: partitions.wanted(node.values) for node in own}
    # What is in use on a node that has changed its strategy was there before the move.
    in_use = {} if options["node"] else pod_judge.in_use(plain([each["in_use"] for each in options["probed"]]))
    looked = None if options["node"] else after
    return pod_judge.PodEvidence(before, looked, plain(options["slices"]), in_use, demands, wanted)


def pods(context: Map, options: Map) -> RingResult:
    objects, requests = _strategy_answers.read(options["plan"])
    planned = [pod_plan.pod_of(pod) for wave in options["probed"] for pod in plain(wave["item"])]
    results = [result for wave in options["probed"] for result in plain(wave["pods"])]
    if options["node"]:
        planned = [pod for pod in planned if pod.node == options["node"]]
        results = [result for result in results if result["node"] == options["node"]]
    evidence = _pod_evidence(context, options, sorted({pod.node for pod in planned}))
    return pod_judge.judge(planned, results, objects, requests, evidence)


def transfers(context: Map, options: Map) -> RingResult:
    hostvars = context["hostvars"]
    nodes = {str((result["item"][1].get("spec") or {}).get("nodeName")) for result in options["logs"]}
    groups = {node: _groups.of(hostvars, node) for node in nodes if node in hostvars}
    return pod_judge.judge_logs(options["logs"], groups)


PLANS: Dict[str, Callable[[Map, Map], Dict[str, Any]]] = {
    "begin": begin,
    "plan": plan,
    "own": own,
    "pods_plan": pods_plan,
}
# In the order of the document.
RINGS: Dict[str, Callable[[Map, Map], RingResult]] = {
    "host": host,
    "cluster": cluster,
    "pods": pods,
    "transfers": transfers,
}


def part(context: Map, options: Map) -> Dict[str, Any]:
    """The result of one part. What a ring has found is kept in the directory of the run, or returned without one."""
    name = str(options["part"])
    if name in PLANS:
        return PLANS[name](context, options)
    found = RINGS[name](context, options).as_dict()
    if not options["run"]:
        return dict(found)
    _verify_run.keep(options["run"], name, found)
    return {}
