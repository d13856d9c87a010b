# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Records what a commit leaves behind: ``python tests/upgrade/record.py COMMIT`` (needs Go).

Its own playbooks run, on nodes of the recorded fleet and on a real API server whose nodes exist only as objects. What
they leave is written to ``tests/unit/fixtures/state/<commit>``, whose README says what each file is. What no playbook
leaves without hardware or pods is written by :mod:`leave`, which calls the code of the commit that writes it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "build" / "collections"), str(HERE.parent / "lab")]

from control_plane import lifecycle

from ansible_collections.zerocopy.rdma.tests.bench.trees import CHECKOUT, Tree, TreeError, checkout, commit_of
from ansible_collections.zerocopy.rdma.tests.same import fleet
from ansible_collections.zerocopy.rdma.tests.same.cluster import LIVE, Cluster
from ansible_collections.zerocopy.rdma.tests.same.inventories import Renamed, build, sources
from ansible_collections.zerocopy.rdma.tests.same.scenarios import Scenario

STATES = CHECKOUT / "tests/unit/fixtures/state"
LEDGERS = CHECKOUT / "tests/unit/fixtures/ledger"
STATE = "var/lib/zerocopy-rdma"
BUILD = CHECKOUT / "build/upgrade"
# One of each strategy.
HOSTS = ["v100-01", "a100-01", "h100-03", "lab-01"]
FACTS = "lab-01"
GROUPS: dict[str, dict[str, Any]] = {
    "lab": {"rdma_strategy": "inject", "rdma_claims_templates": []},
    "h100": {"rdma_claims_templates": [{"name": "h100-1gpu-1nic", "gpus": 1, "nics": 1}]},
}
# Fields that the API server or its controllers write.
_SERVERS = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
_GENERATION = "deprecated.daemonset.template.generation"


def own_objects(cluster: Cluster) -> list[dict[str, Any]]:
    """The objects with a field of ours, each with those that the API server has not added; of nodes, ours alone.

    Each entry says which manager wrote these fields of an ``object``, and how, so that they can be written again.
    """
    return [entry for one in cluster.everything() for entry in _entries(one)]


def _entries(one: dict[str, Any]) -> list[dict[str, Any]]:
    managed = [
        entry for entry in one["metadata"].get("managedFields", ()) if entry["manager"].startswith("zerocopy.rdma")
    ]
    return [
        {
            "manager": entry["manager"],
            "operation": entry["operation"],
            "subresource": entry.get("subresource", ""),
            "object": {
                "apiVersion": one["apiVersion"],
                "kind": one["kind"],
                **_kept(one, entry["fieldsV1"]),
                "metadata": {
                    **{name: one["metadata"][name] for name in ("name", "namespace") if name in one["metadata"]},
                    **_kept(one["metadata"], entry["fieldsV1"].get("f:metadata", {})),
                },
            },
        }
        for entry in managed
    ]


def _kept(value: Any, fields: dict[str, Any]) -> Any:
    """The part of an object that these fields (FieldsV1) are about."""
    if not isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for name, own in fields.items():
        key = name.partition(":")[2]
        if not name.startswith("f:"):
            continue
        if key not in value:
            # An empty map, which the API server leaves out.
            found[key] = {}
            continue
        below = {each: more for each, more in own.items() if each != "."}
        if isinstance(value[key], list) and below:
            found[key] = _entries_of(value[key], below)
        else:
            found[key] = _kept(value[key], below) if below else value[key]
    return found


def _entries_of(values: list[Any], fields: dict[str, Any]) -> list[Any]:
    """Those entries of a list that are named by their keys (``k:{...}``), in its order; of other lists all."""
    named = [(json.loads(name[2:]), own) for name, own in fields.items() if name.startswith("k:")]
    if len(named) < len(fields):
        return values
    return [
        {**keys, **_kept(each, own)}
        for each in values
        for keys, own in named
        if all(each.get(key) == wanted for key, wanted in keys.items())
    ]


def _scenario(tree: Tree, groups: dict[str, dict[str, Any]], hosts: list[str]) -> tuple[Scenario, Renamed]:
    """A scenario in the variables of the tree, with its own example inventory."""
    old = "rdma_driver_wait:" in (tree.path / "roles/rdma_driver/defaults/main.yml").read_text()
    renamed = {} if old else yaml.safe_load((HERE.parent / "same/renamed.yml").read_text())
    return Scenario("upgrade", ("cluster", "nodes"), groups, hosts, own=True), renamed


def record_cluster(tree: Tree, target: Path) -> None:
    """The objects in a cluster, facts in a cache, an audit, and a rewritten workload."""
    scenario, renamed = _scenario(tree, {**GROUPS, "all": LIVE}, HOSTS)
    run, written = _begin(tree, scenario)
    (written / "before.yml").write_text((HERE / "workload.yml").read_text())
    (written / "after").mkdir()
    every = {
        "rdma_audit_json": "written/audit.json",
        "rdma_migrate_manifests": ["written/before.yml"],
        "rdma_migrate_directory": "written/after",
        "rdma_migrate_group": "h100",
    }
    build(run, tree.path, renamed, scenario.with_groups({"all": every}), scenario)
    with lifecycle.running(f"upgrade-{os.getpid()}") as plane:
        where = {"K8S_AUTH_KUBECONFIG": str(plane.kubeconfig)}
        kept = {**where, "ANSIBLE_CACHE_PLUGIN": "jsonfile", "ANSIBLE_CACHE_PLUGIN_CONNECTION": "cache"}
        cluster = Cluster(plane)
        cluster.begin(scenario, tree)
        tree.play("facts", _given(run), kept)
        with cluster.kubelets():
            tree.play("provision", _given(run), where)
        _json(target / "cluster.json", own_objects(cluster))
        cluster.create([yaml.safe_load((HERE / "workload.yml").read_text())])
        for name in ("audit", "migrate"):
            tree.play(name, _given(run), where)
    (cached,) = (run / "cache").glob(f"*{FACTS}")
    # ansible-core 2.19 and newer have the facts in a text.
    _json(target / "facts.json", json.loads(json.loads(cached.read_text())["__payload__"])["rdma"])
    shutil.copy(written / "audit.json", target / "audit.json")
    _json(target / "workload.json", yaml.safe_load((written / "after/before.yml").read_text()))


def record_verify(tree: Tree, target: Path) -> None:
    """Report and metrics of verify, as far as it goes without a cluster."""
    scenario, renamed = _scenario(tree, {"lab": {"rdma_claims_templates": []}}, [FACTS])
    run, written = _begin(tree, scenario)
    every = {"rdma_verify_directory": "written", "rdma_verify_metrics": "written/verify.prom"}
    build(run, tree.path, renamed, scenario.with_groups({"all": every}), scenario)
    try:
        tree.play("verify", _given(run), {})
    except TreeError:
        # It fails, because nobody has prepared the node, after it has written its report.
        if not (written / "verify.json").exists():
            raise
    for name in ("verify.json", "verify.prom"):
        shutil.copy(written / name, target / name)


def _begin(tree: Tree, scenario: Scenario) -> tuple[Path, Path]:
    """The directory of a run, which it names sources of the inventory from, and that of its files."""
    run = BUILD / "run"
    fleet.expand(tree, BUILD / "nodes", scenario.hosts)
    fleet.begin(run, BUILD / "nodes", scenario)
    (run / "written").mkdir()
    os.chdir(run)
    return run, run / "written"


def _given(run: Path) -> list[Path]:
    return [path.relative_to(run) for path in sources(run)]


def record_ledgers(tree: Tree, target: Path) -> None:
    """A file for each concern of a host: its files before and after site, in the form of fixtures/ledger."""
    scenario, renamed = _scenario(tree, {"lab": {"rdma_claims_templates": []}}, [FACTS])
    run, _written = _begin(tree, scenario)
    build(run, tree.path, renamed, scenario.groups, scenario)
    tree.play("site", _given(run), {})
    node, before = run / "build/demo/nodes" / FACTS, BUILD / "nodes" / FACTS
    for path in sorted((node / STATE).glob("*/ledger.json")):
        directory, ledger = path.parent, json.loads(path.read_text())
        own = [path for path in directory.rglob("*") if path.is_file() and path.suffix != ".lock"]
        changed = [node / path[1:] for path in ledger["files"]]
        recorded = {
            "before": {f"/{path.relative_to(node)}": _file(before / path.relative_to(node)) for path in changed},
            "after": {f"/{path.relative_to(node)}": _file(path) for path in [*changed, *own]},
        }
        there = {side: {name: file for name, file in files.items() if file} for side, files in recorded.items()}
        _json(target / f"{directory.name}.json", there)


def _file(path: Path) -> dict[str, Any] | None:
    return {"mode": path.stat().st_mode & 0o7777, "text": path.read_text()} if path.is_file() else None


def _json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n")


def leave(tree: Tree, target: Path) -> None:
    """What needs hardware, a runtime or pods; in a process of its own, which imports the code of the tree."""
    subprocess.run([sys.executable, str(HERE / "leave.py"), str(tree.path), str(target)], check=True)


_PARTS = {"cluster": record_cluster, "verify": record_verify, "ledgers": record_ledgers, "made": leave}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", nargs="?", help="the working tree without one")
    parser.add_argument("--name", help="of the directory; otherwise the first eight digits of the commit")
    parser.add_argument("--part", action="append", choices=_PARTS, help="only this one; may be given more than once")
    options = parser.parse_args()
    tree = checkout(commit_of(options.commit)) if options.commit else Tree(CHECKOUT)
    name = options.name or tree.commit[:8]
    for part in options.part or _PARTS:
        target = (LEDGERS if part == "ledgers" else STATES) / name
        target.mkdir(parents=True, exist_ok=True)
        _PARTS[part](tree, target)


if __name__ == "__main__":
    main()
