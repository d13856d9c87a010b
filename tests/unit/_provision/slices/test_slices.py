# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What is published and how it differs from what is expected, with slices recorded from real clusters."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Dict, List, Set, Tuple
from urllib.parse import parse_qsl, urlsplit

import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api import request
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError, ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.request import Client
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.slices import info, wait
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.slices.info import SliceRequest
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import compare, model
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.compare import Expected
from ansible_collections.zerocopy.rdma.tests.unit._provision.api_server import Clock, Reply, Server, status

RECORDED = Path(__file__).resolve().parents[2] / "fixtures/resourceslices"
SLICES = [
    item
    for driver in ("dranet", "gpu")
    for item in yaml.safe_load((RECORDED / f"aws_eks_examples-gpu-efa-{driver}.yaml").read_text("utf-8"))["items"]
]
NODE = "ip-192-168-153-160.ec2.internal"
PUBLISHED = model.devices(SLICES)
PATH = "/apis/resource.k8s.io/v1/resourceslices"
CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
NODES = "/api/v1/nodes"
PODS = "/api/v1/pods"
MAPS = "/api/v1/configmaps"
BOTH = {model.DRANET, model.GPU_DRIVER}


def kind(name: str, plural: str) -> Dict[str, Any]:
    return {"resource": plural, "responseKind": {"kind": name}, "scope": "Cluster", "verbs": ["list", "watch"]}


KINDS = [kind("ResourceSlice", "resourceslices"), kind("DeviceClass", "deviceclasses")]


def items(*found: Dict[str, Any]) -> Reply:
    return 200, {}, {"metadata": {"resourceVersion": "7"}, "items": list(found)}


@pytest.fixture
def cluster(server: Server) -> Server:
    group = {"metadata": {"name": "resource.k8s.io"}, "versions": [{"version": "v1", "resources": KINDS}]}
    server.paths = {
        "/version": (200, {}, {"major": "1", "minor": "36", "gitVersion": "v1.36.3"}),
        "/apis": (200, {}, {"kind": "APIGroupDiscoveryList", "items": [group]}),
        NODES: items({"metadata": {"name": NODE, "labels": {"nvidia.com/gpu.present": "true", "zone": "a"}}}),
        PATH: items(*json.loads(json.dumps(SLICES))),
        CLASSES: items({"metadata": {"name": "efa"}}, {"metadata": {"name": "gpu"}}),
        PODS: items(),
    }
    return server


def wanted(devices: List[model.SliceDevice], **more: Any) -> Dict[str, Any]:
    return compare.written(Expected(**{"drivers": BOTH, "devices": devices, **more}))


def with_kueue(server: Server) -> None:
    queues = {"version": "v1beta2", "resources": [kind("ClusterQueue", "clusterqueues")]}
    groups = server.paths["/apis"]
    assert groups is not None
    groups[2]["items"].append({"metadata": {"name": "kueue.x-k8s.io"}, "versions": [queues]})


def play(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    for module in (wait, request):
        monkeypatch.setattr(module, "time", clock)


def asked(server: Server) -> List[str]:
    return [path.partition("?")[0] for _method, path, *_rest in server.seen]


def test_nothing_is_compared_that_is_not_expected(cluster: Server, client: Client) -> None:
    found = info.info(client, SliceRequest(wait_timeout=30))
    assert (found["kubernetes"], found["api_version"], found["changed"]) == ("v1.36.3", "resource.k8s.io/v1", False)
    assert found["device_classes"] == ["efa", "gpu"]
    assert (found["nodes"], found["differences"]) == ({}, [])
    assert {(one["kind"], one["apiVersion"]) for one in found["slices"]} == {("ResourceSlice", "resource.k8s.io/v1")}
    assert len(found["devices"]) == len(PUBLISHED) == 15
    assert sorted(asked(cluster)) == sorted(["/version", "/apis", PATH, CLASSES])


MAPPING = {"name": "gpus", "deviceClassNames": ["gpu.nvidia.com", "efa"]}
KUEUE = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "resources": {"deviceClassMappings": [MAPPING]}}


@pytest.mark.parametrize(
    ("maps", "classes"),
    [
        (items({"data": {"other": "{}", "config.yaml": yaml.safe_dump(KUEUE)}}), ["efa", "gpu.nvidia.com"]),
        (items({"data": {"config.yaml": yaml.safe_dump({**KUEUE, "resources": {}})}}), []),
        (items({"data": {"other": "{}"}}), None),
        (items(), None),
        (status(403), None),
    ],
)
def test_device_classes_of_kueue(cluster: Server, client: Client, maps: Reply, classes: Any) -> None:
    cluster.paths[MAPS] = maps
    assert info.info(client, SliceRequest())["kueue_classes"] is None
    assert MAPS not in asked(cluster)
    with_kueue(cluster)
    assert info.info(client, SliceRequest())["kueue_classes"] == classes


def test_maps_of_anybody_are_read_in_pages(cluster: Server, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may make a ConfigMap can give it Kueue's label."""
    monkeypatch.setattr(request, "LARGEST_PAGE", 1 << 20)
    maps = [*({"data": {"x": "x" * (1 << 15)}} for _each in range(40)), {"data": {"x": yaml.safe_dump(KUEUE)}}]

    def page(_method: str, path: str, _body: bytes) -> Reply:
        query = dict(parse_qsl(urlsplit(path).query))
        first = int(query.get("continue", 0))
        until = first + int(query.get("limit", len(maps)))
        meta = {"continue": str(until)} if until < len(maps) else {}
        return 200, {}, {"metadata": meta, "items": maps[first:until]}

    with_kueue(cluster)
    cluster.decide = page
    assert info.info(client, SliceRequest())["kueue_classes"] == ["efa", "gpu.nvidia.com"]
    limits = [re.findall(r"\blimit=(\d+)", path) for _method, path, *_rest in cluster.seen if path.startswith(MAPS)]
    assert limits == [["500"], ["25"], ["25"]]


def test_tainted_devices_are_named(cluster: Server, client: Client) -> None:
    assert info.info(client, SliceRequest())["tainted"] == []
    slices = json.loads(json.dumps(SLICES))
    spec = next(piece["spec"] for piece in slices if piece["spec"]["driver"] == model.GPU_DRIVER)
    spec["devices"][0]["taints"] = [{"key": "gpu.nvidia.com/xid", "value": "79", "effect": "NoSchedule"}]
    name = spec["devices"][0]["name"]
    cluster.paths[PATH] = items(*slices)
    found = info.info(client, SliceRequest())
    said = f"{NODE}: {name} is tainted gpu.nvidia.com/xid=79 (NoSchedule): no new pod gets it"
    assert found["tainted"] == [said]
    taint = {"key": "gpu.nvidia.com/xid", "value": "79", "effect": "NoSchedule", "time_added": ""}
    assert [one["taints"] for one in found["devices"] if one["taints"]] == [[taint]]


def test_subsets_leave_parts_out(cluster: Server, client: Client) -> None:
    assert not {"slices", "devices"} & set(info.info(client, SliceRequest(subsets=())))
    assert PATH not in asked(cluster)
    assert "slices" not in info.info(client, SliceRequest(subsets=("devices",)))


def test_a_node_that_publishes_what_is_expected(cluster: Server, client: Client) -> None:
    found = info.info(client, SliceRequest({NODE: wanted(PUBLISHED, wait=BOTH)}, wait_timeout=30))
    assert found["nodes"][NODE] == {
        "exists": True,
        "labels": {"nvidia.com/gpu.present": "true"},
        "drivers": ["dra.net", "gpu.nvidia.com"],
        "silent": "",
        "without_gpus": "",
        "missing": [],
        "extra": [],
        "differing": [],
    }
    assert found["differences"] == []
    assert PODS not in asked(cluster)


def test_a_device_too_few_and_one_too_many(cluster: Server, client: Client) -> None:
    more = model.SliceDevice(
        "dra.net", NODE, "pci-0000-ff-00-0", NODE, {**PUBLISHED[0].attributes, model.PCI_ADDRESS: "0000:ff:00.0"}
    )
    found = info.info(client, SliceRequest({NODE: wanted([*PUBLISHED[1:], more])}))["nodes"][NODE]
    assert [one["name"] for one in found["missing"]] == ["pci-0000-ff-00-0"]
    assert [one["name"] for one in found["extra"]] == [PUBLISHED[0].name]


@pytest.mark.parametrize(
    ("pods", "reason"), [(items(), "it has no pod there"), (status(403), "its pod cannot be read")]
)
def test_a_node_that_publishes_nothing(cluster: Server, client: Client, pods: Reply, reason: str) -> None:
    cluster.paths.update({PATH: items(), PODS: pods})
    found = info.info(client, SliceRequest({NODE: wanted(PUBLISHED), "gone": wanted([])}))
    assert (found["nodes"][NODE]["drivers"], len(found["nodes"][NODE]["missing"])) == ([], len(PUBLISHED))
    assert [found["nodes"][name]["exists"] for name in (NODE, "gone")] == [True, False]
    assert PODS in asked(cluster)
    assert any(line.endswith(reason) for line in found["differences"])


def pod(node: str) -> Dict[str, Any]:
    return {"metadata": {"name": f"dranet-{node}"}, "spec": {"nodeName": node}, "status": {"phase": "Pending"}}


NO_POD = "DRANET publishes nothing there: it has no pod there"
PENDING = "DRANET publishes nothing there: its pod is Pending, and not ready"
LEFT_OUT = "DRANET runs there, but does not publish it: if RDMA modules were loaded or the default route"
LOADED = "its RDMA modules were loaded after DRANET was started: restart DRANET"


@pytest.mark.parametrize(
    ("published", "pods", "waited", "unwaited"),
    [
        # In check mode nobody waits, and the driver may be still to come.
        ([], [], NO_POD, ""),
        ([], [pod(NODE)], PENDING, PENDING),
        ([[]], [], LEFT_OUT, LEFT_OUT),
        ([[{**SLICES[0]["spec"]["devices"][0], "attributes": {}}]], [], LEFT_OUT, LEFT_OUT),
    ],
)
def test_a_wait_in_vain_says_for_whom_and_why(
    cluster: Server,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    published: List[List[Dict[str, Any]]],
    pods: List[Dict[str, Any]],
    waited: str,
    unwaited: str,
) -> None:
    clock = Clock()
    play(monkeypatch, clock)
    slices = [{**SLICES[0], "spec": {**SLICES[0]["spec"], "devices": devices}} for devices in published]
    cluster.paths.update({PATH: items(*slices), PODS: items(*pods)})
    # A node that the cluster does not have is not waited for.
    asked_for = {name: wanted(PUBLISHED, wait={model.DRANET}) for name in (NODE, "gone")}
    for seconds, reason in ((2, waited), (None, unwaited)):
        found = info.info(client, SliceRequest(asked_for, wait_timeout=seconds))["nodes"]
        assert found[NODE]["silent"].startswith(reason)
        assert bool(found[NODE]["silent"]) == bool(reason)
        assert (found["gone"]["silent"], found["gone"]["exists"]) == ("", False)
        assert clock.now >= 2
    without = info.info(client, SliceRequest({NODE: wanted(PUBLISHED)}, wait_timeout=2))
    assert without["nodes"][NODE]["silent"] == ""


def test_a_nic_that_is_none_for_rdma_yet_is_silent(
    cluster: Server, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(monkeypatch, Clock())
    slices = json.loads(json.dumps(SLICES))
    for device in (one for piece in slices for one in piece["spec"]["devices"]):
        if "dra.net/rdma" in device["attributes"]:
            device["attributes"]["dra.net/rdma"]["bool"] = False
    cluster.paths[PATH] = items(*slices)
    found = info.info(client, SliceRequest({NODE: wanted(PUBLISHED, wait=BOTH)}, wait_timeout=2))
    assert found["nodes"][NODE]["silent"] == LOADED


@pytest.mark.parametrize(("one", "message"), [({}, "has no 'drivers'"), ({"drivers": 7}, "has the wrong format")])
def test_what_is_expected_has_a_form(cluster: Server, client: Client, one: Dict[str, Any], message: str) -> None:
    with pytest.raises(ClusterError, match=f"^expected: {NODE} .*{message}"):
        info.info(client, SliceRequest({NODE: one}))


def gpu_of(node: str) -> Dict[str, Any]:
    devices = [{"name": "gpu-0", "attributes": {"type": {"string": "gpu"}}}]
    spec = {"driver": model.GPU_DRIVER, "nodeName": node, "pool": {"name": node}, "devices": devices}
    return {"metadata": {"name": f"{node}-gpu"}, "spec": spec}


def test_a_node_whose_gpu_driver_is_silent(cluster: Server, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    play(monkeypatch, clock)
    cluster.paths[PATH] = items(*(one for one in SLICES if one["spec"]["driver"] == model.DRANET))
    asked_for = {NODE: wanted(PUBLISHED, wait=BOTH)}
    found = info.info(client, SliceRequest(asked_for, wait_timeout=2))["nodes"][NODE]
    assert found["silent"] == ""
    assert found["without_gpus"].startswith("NVIDIA's DRA driver does not run there")
    assert clock.now >= 2
    # In check mode it may be still to come.
    assert info.info(client, SliceRequest(asked_for))["nodes"][NODE]["without_gpus"] == ""


def of(node: str, rdma: bool = True) -> Dict[str, Any]:
    devices = [{"name": "a", "attributes": {"dra.net/rdma": {"bool": rdma}}}]
    spec = {"driver": "dra.net", "nodeName": node, "pool": {"name": node}, "devices": devices}
    return {"metadata": {"name": node}, "spec": spec}


def nics(*nodes: str) -> Set[Tuple[str, str]]:
    return {(model.DRANET, node) for node in nodes}


def nothing_of(node: str) -> Dict[str, Any]:
    """The slice of a node on which DRANET runs and finds nothing."""
    return {"metadata": {"name": node}, "spec": {**of(node)["spec"], "devices": None}}


class Publishing(Clock):
    """Time in which a node publishes its slice every 20 s, as long as there are any left."""

    def __init__(self, server: Server, nodes: List[str]) -> None:
        super().__init__()
        self.server, self.nodes, self.done = server, nodes, 0
        self.sleep(0)

    def sleep(self, seconds: float) -> None:
        super().sleep(20 if seconds else 0)
        idle = [nothing_of("c"), of("b", rdma=False)]
        self.server.paths[PATH] = items(*idle, *map(of, self.nodes[: self.done]))
        self.done += 1


@pytest.mark.parametrize(
    ("published", "late"),
    [(["a", "b", "c"], set()), (["a", "c"], {"b"}), ([], {"a", "b", "c"}), (["x"], {"a", "b", "c"})],
)
def test_waiting_goes_on_while_nodes_publish(
    server: Server, client: Client, monkeypatch: pytest.MonkeyPatch, published: List[str], late: Set[str]
) -> None:
    clock = Publishing(server, published)
    play(monkeypatch, clock)
    assert wait.until_published(client, PATH, nics("a", "b", "c"), 30) == nics(*late)
    assert clock.now == 20 * len(published) if not late else clock.now < 20 * len(published) + 50


def test_a_watch_that_is_too_old_starts_anew(server: Server, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    play(monkeypatch, Clock())
    begun = items()
    for code, rest in ((410, [items(of("a"))]), (403, [])):
        server.replies = [begun, status(code, "no"), *rest]
        if rest:
            assert wait.until_published(client, PATH, nics("a"), 30) == set()
        else:
            with pytest.raises(ApiError):
                wait.until_published(client, PATH, nics("a"), 30)
    assert [path.partition("?")[2].split("&")[0] for _method, path, *_rest in server.seen] == [
        "fieldSelector=spec.driver%3Ddra.net"
    ] * 5


def test_a_node_that_is_silent_in_all_drivers_is_waited_for_once(
    server: Server, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    play(monkeypatch, clock)
    server.paths[PATH] = items(of("a"), gpu_of("b"))
    gpus = {(model.GPU_DRIVER, node) for node in ("a", "b", "c")}
    late = {(model.GPU_DRIVER, "a"), (model.GPU_DRIVER, "c"), *nics("b", "c")}
    assert wait.until_published(client, PATH, {*nics("a", "b", "c"), *gpus}, 4) == late
    # Four seconds and a pause, not four seconds for each driver.
    assert 4 <= clock.now < 8


def test_a_driver_that_crashes_and_starts_again_is_no_progress(
    server: Server, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    play(monkeypatch, clock)
    looks = iter([[of("a")], *([[], [of("a")]] * 20), [of("a"), of("b")]])

    def decide(_method: str, path: str, _body: bytes) -> Reply:
        if "watch=" in path:
            return 200, {}, b""
        clock.now += 20
        return items(*next(looks))

    server.decide = decide
    assert wait.until_published(client, PATH, nics("a", "b"), 70) <= nics("a", "b")
    assert clock.now < 150
