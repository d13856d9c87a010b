# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the playbooks leave on a real API server, whose nodes exist only as objects.

Every run has a control plane of its own. Kubelets are played as far as the playbooks wait for them: pods that are
deleted end, and nodes offer the extended resources that a scenario names until their plugin goes.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import yaml
from control_plane import lifecycle
from vmlab.golang import go

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.content_hash import ALIAS
from ansible_collections.zerocopy.rdma.tests.bench.cluster_objects import GPU_CLASS, Object, node, sriov_plugin
from ansible_collections.zerocopy.rdma.tests.bench.trees import Tree, TreeError
from ansible_collections.zerocopy.rdma.tests.same.fleet import begin
from ansible_collections.zerocopy.rdma.tests.same.inventories import Renamed, build, layer, sources
from ansible_collections.zerocopy.rdma.tests.same.scenarios import BUILD, HERE, Groups, Scenario

# Nobody plays whole kubelets and drivers here, so there is nothing to wait for.
LIVE = {
    "rdma_cluster": "kubernetes",
    "rdma_driver_wait": False,
    "rdma_host_device_wait": False,
    "rdma_shared_device_wait": False,
}
# What changes by itself, or is made of what is compared.
_LEFT_OUT = (
    "events",
    "pods",
    "leases",
    "endpoints",
    "endpointslices",
    "controllerrevisions",
    "ipaddresses",
    "servicecidrs",
    "flowschemas",
    "prioritylevelconfigurations",
)
# Field managers of the control plane, and of what a run begins with.
_OURS = "same"
_OTHERS = {_OURS, "kube-apiserver", "kube-controller-manager", "kube-scheduler", "clusterrole-aggregation-controller"}
_META = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
_GENERATION = "deprecated.daemonset.template.generation"
_SRIOV = "github.com/k8snetworkplumbingwg/sriov-network-operator@v1.6.0"
_SECONDS = 60
_PAUSE = 1.0


def objects(tree: Tree, source: Tree, scenario: Scenario, renamed: Renamed, run: Path, pristine: Path) -> Path:
    """Run provision, again after each change, and teardown; returns the directory of the objects after each."""
    output = begin(run, pristine, scenario)
    groups: dict[str, dict[str, Any]] = scenario.with_groups({"all": LIVE})
    build(run, source.path, renamed, groups, scenario)
    with lifecycle.running(f"same-{os.getpid()}") as plane:
        cluster = Cluster(plane)
        cluster.begin(scenario, source)
        where = {"K8S_AUTH_KUBECONFIG": str(plane.kubeconfig)}
        with cluster.kubelets():
            tree.play("provision", sources(run), where)
            cluster.offer(scenario.resources)
            cluster.dump(output / "provisioned")
            cluster.offer({host: dict.fromkeys(one, "0") for host, one in scenario.resources.items()})
            for number, change in enumerate(scenario.changes, 1):
                groups = _over(groups, change)
                layer(run, renamed, groups)
                tree.play("provision", sources(run), where)
                cluster.dump(output / f"changed-{number}")
            tree.play("teardown", sources(run), where)
            cluster.dump(output / "reverted")
    return output


def _over(groups: Groups, change: Groups) -> dict[str, dict[str, Any]]:
    return {name: {**groups.get(name, {}), **change.get(name, {})} for name in {**groups, **change}}


class Cluster:
    """A control plane, by kubectl."""

    def __init__(self, plane: lifecycle.ControlPlane) -> None:
        self._command = [str(plane.kubectl), "--kubeconfig", str(plane.kubeconfig)]

    def begin(self, scenario: Scenario, source: Tree) -> None:
        """Make what is there before a run: nodes, the class of GPUs, devices, and the kinds of operators."""
        items = [GPU_CLASS, *map(node, scenario.hosts)]
        if scenario.slices:
            every = json.loads((HERE / "slices.json").read_text())
            items += [one for one in every if one["spec"]["nodeName"] in scenario.hosts]
        for operator in scenario.crds:
            items += _CRDS[operator](source)
        self.create(items)
        if scenario.crds:
            self._kubectl("wait", "--for=condition=Established", "crd", "--all", f"--timeout={_SECONDS}s")
        deadline = time.monotonic() + _SECONDS
        # Every new node is tainted until a controller has seen that it is ready.
        while "not-ready" in self._kubectl("get", "nodes", "-o", "jsonpath={.items[*].spec.taints[*].key}"):
            if time.monotonic() > deadline:
                raise TreeError(f"nodes of the control plane are not ready after {_SECONDS} s")
            time.sleep(_PAUSE)

    def offer(self, resources: Mapping[str, Mapping[str, str]]) -> None:
        """What kubelets would write."""
        for host, one in resources.items():
            patch = json.dumps({"status": {"capacity": one, "allocatable": one}})
            manager = f"--field-manager={_OURS}"
            self._kubectl("patch", "node", host, "--subresource=status", "--type=merge", "-p", patch, manager)

    def dump(self, directory: Path) -> None:
        """Write a file for each node, and for each object that somebody else than the control plane has made."""
        directory.mkdir(parents=True)
        for one in self.everything():
            meta = one["metadata"]
            managers = {entry["manager"] for entry in meta.get("managedFields", ())}
            if one["kind"] == "Node" or managers - _OTHERS:
                place = directory / one["kind"] / meta.get("namespace", "")
                place.mkdir(parents=True, exist_ok=True)
                # Kinds of the same name in two groups, of which an object has only one.
                file = place / f"{meta['name'].replace(':', '_')}.yml"
                # The name of a template ends with a hash of its content, and another content is not another object. An
                # earlier one that pods use has the same alias.
                alias = meta.get("labels", {}).get(ALIAS)
                if alias and not (place / f"{alias}.yml").exists():
                    file = place / f"{alias}.yml"
                file.write_text(yaml.safe_dump(_normal(one), width=10_000))

    def everything(self) -> list[Object]:
        """All objects with their managed fields, but for kinds that change by themselves."""
        listed = self._kubectl("api-resources", "--verbs=list", "-o", "name").split()
        kinds = ",".join(kind for kind in listed if kind.partition(".")[0] not in _LEFT_OUT)
        found: list[Object] = json.loads(self._kubectl("get", kinds, "-A", "-o", "json", "--show-managed-fields"))[
            "items"
        ]
        return found

    @contextmanager
    def kubelets(self) -> Iterator[None]:
        """End pods that are deleted, meanwhile."""
        stop = threading.Event()
        thread = threading.Thread(target=self._end_pods, args=(stop,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _end_pods(self, stop: threading.Event) -> None:
        while not stop.wait(_PAUSE):
            # Of a busy API server, answers may be late: the next round asks again.
            with suppress(TreeError):
                self._end_deleted()

    def _end_deleted(self) -> None:
        show = '{range .items[?(@.metadata.deletionTimestamp)]}{.metadata.namespace} {.metadata.name}{"\\n"}{end}'
        for line in self._kubectl("get", "pods", "-A", "-o", f"jsonpath={show}").splitlines():
            namespace, name = line.split()
            # Somebody else may have been faster.
            self._kubectl("delete", "pod", name, "-n", namespace, "--force", "--ignore-not-found", "--wait=false")

    def create(self, items: list[Object]) -> None:
        """Make these objects."""
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        self._kubectl("create", f"--field-manager={_OURS}", "-f", "-", stdin=text)

    def _kubectl(self, *arguments: str, stdin: str = "") -> str:
        done = subprocess.run([*self._command, *arguments], input=stdin, capture_output=True, text=True, check=False)
        if done.returncode:
            raise TreeError(f"kubectl {' '.join(arguments)[:200]}: {done.stderr.strip()}")
        return done.stdout


def _normal(one: Object) -> Object:
    """An object without what differs from run to run; of the status, only what nodes offer."""
    meta = {key: value for key, value in one["metadata"].items() if key not in _META}
    notes = {key: value for key, value in meta.pop("annotations", {}).items() if key != _GENERATION}
    owners = [{key: value for key, value in owner.items() if key != "uid"} for owner in meta.pop("ownerReferences", ())]
    meta.update({"annotations": notes} if notes else {}, **({"ownerReferences": owners} if owners else {}))
    managed = [
        {key: value for key, value in entry.items() if key != "time"}
        for entry in one["metadata"].get("managedFields", ())
        if entry["manager"] not in _OTHERS
    ]
    meta["managedFields"] = sorted(managed, key=lambda entry: json.dumps(entry, sort_keys=True))
    found = {**one, "metadata": meta}
    status = found.pop("status", {})
    if one["kind"] == "Node":
        found["status"] = {key: status.get(key) for key in ("capacity", "allocatable")}
        # Those of the control plane come and go with its clock.
        taints = [taint for taint in one["spec"].get("taints", ()) if "node.kubernetes.io/" not in taint["key"]]
        found["spec"] = {**one["spec"], "taints": taints}
    return found


def _sriov_crds(_source: Tree) -> list[Object]:
    # The checksum database says that the module is the one that everybody has.
    module = Path(json.loads(go(_scratch(), "mod", "download", "-json", _SRIOV))["Dir"])
    files = sorted((module / "config" / "crd" / "bases").glob("sriovnetwork.openshift.io_*.yaml"))
    # Where the operator itself would run, and where its objects are.
    place = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "sriov-network-operator"}}
    return [place, sriov_plugin("sriov-network-operator"), *(yaml.safe_load(path.read_text()) for path in files)]


def _network_crds(source: Tree) -> list[Object]:
    """As tests/cluster has them, with NicNodePolicies."""
    path = source.path / "tests/cluster/network_operator.py"
    names: dict[str, Any] = {"__name__": "network_operator"}
    exec(compile(path.read_text(), str(path), "exec"), names)
    found: list[Object] = names["definitions"](_scratch(), True)
    return found


def _scratch() -> Path:
    path = BUILD / "go"
    path.mkdir(parents=True, exist_ok=True)
    return path


_CRDS = {"sriov_operator": _sriov_crds, "network_operator": _network_crds}
