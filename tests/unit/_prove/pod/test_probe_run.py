# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Probes from their making to their end; API server and kubelet are played, real ones are in tests/cluster."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Dict, Generator, List, Optional

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import probe as probes
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import probe_run
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.probe import PodProbe, PodProbeResult, Recipe
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.errors import ApiError, ClusterError
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.rollout import wait
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.slices import wait as slices_wait
from ansible_collections.zerocopy.rdma.tests.unit._provision.api_server import Clock

RECIPE = Recipe("image", "script", timeout=120)
CLAIMS = "/apis/resource.k8s.io/v1"
PODS = "/api/v1/namespaces/default/pods"
MADE, BEGAN = "2026-11-20T10:00:00Z", "2026-11-20T10:00:07Z"
RAN = [{"state": {"terminated": {"startedAt": BEGAN}}}]
# The steps of a pod that comes to its end, one for each time somebody looks.
GOOD = [{"phase": "Pending"}, {"phase": "Running", "podIP": "10.244.0.7"}, {"phase": "Succeeded"}]


class Cluster:
    """An API server whose pods go on by a step of ``steps`` whenever they are listed."""

    def __init__(self, **steps: List[Dict[str, Any]]) -> None:
        self.steps = {name.replace("_", "-"): list(own) for name, own in steps.items()}
        self.pods: Dict[str, Dict[str, Any]] = {}
        self.claims: Dict[str, Dict[str, Any]] = {}
        self.elsewhere: List[Dict[str, Any]] = []
        # None: this user may not read them.
        self.events: Optional[List[Dict[str, Any]]] = []
        self.refused: Dict[str, ApiError] = {}
        self.logs: Dict[str, Any] = {}
        self.slices: List[List[Dict[str, Any]]] = []
        self.made: List[str] = []
        self.deleted: List[str] = []

    def all(self, call: Any, items: Any) -> List[Any]:
        return [call(item) for item in items]

    def create(self, path: str, item: Dict[str, Any], query: Any) -> Any:
        assert (path, query) == (PODS, {"fieldManager": "zerocopy.rdma"})
        name = item["metadata"].get("name") or f"{item['metadata']['generateName']}x7k2p"
        if name in self.refused:
            raise self.refused[name]
        if name in self.pods:
            raise ApiError(409, {"message": f"pods {name} already exists"})
        self.made.append(name)
        meta = {**item["metadata"], "name": name, "creationTimestamp": MADE, "uid": f"uid-{name}"}
        self.pods[name] = {**item, "metadata": meta, "status": {"phase": "Pending"}}
        return SimpleNamespace(body=self.pods[name])

    def items_if_allowed(self, path: str, query: Any) -> Optional[List[Dict[str, Any]]]:
        assert path == "/api/v1/namespaces/default/events"
        wanted = query["fieldSelector"]
        mine = [one for one in self.events or () if wanted == f"involvedObject.uid={one['uid']},type=Warning"]
        return None if self.events is None else mine

    def get(self, path: str, query: Any = None) -> Dict[str, Any]:
        if path == PODS:
            assert query == {"labelSelector": "zerocopy.rdma/probe"}
            for name, pod in self.pods.items():
                if self.steps.get(name):
                    pod["status"] = {**pod["status"], **self.steps[name].pop(0)}
                    ran = pod["status"]["phase"] in ("Running", "Succeeded", "Failed")
                    pod["spec"] = {**pod["spec"], **({"nodeName": "n1"} if ran else {})}
                    pod["status"].update({"containerStatuses": RAN} if ran else {})
            return {"items": list(self.pods.values())}
        if path == f"{CLAIMS}/resourceslices":
            assert query == {"fieldSelector": "spec.nodeName=n1"}
            items = (self.slices.pop(0) if len(self.slices) > 1 else self.slices[0]) if self.slices else []
            return {"metadata": {"resourceVersion": "7"}, "items": items}
        if path == f"{CLAIMS}/resourceclaims":
            return {"items": list(self.claims.values())}
        assert (path, query) == (
            "/api/v1/pods",
            {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"},
        )
        return {"items": self.elsewhere}

    def find(self, path: str) -> Optional[Dict[str, Any]]:
        where, _slash, name = path.rpartition("/")
        return self.claims.get(name) if where.startswith(CLAIMS) else self.pods.get(name)

    def text(self, path: str, query: Any) -> str:
        assert query == {"limitBytes": 1 << 20}
        found = self.logs.get(path.split("/")[-2], "said\n")
        if isinstance(found, ClusterError):
            raise found
        return str(found)

    def delete(self, path: str, options: Any) -> None:
        name = path.rpartition("/")[2]
        assert options["preconditions"] == {"uid": self.pods[name]["metadata"]["uid"]}
        self.deleted.append(name)
        self.pods.pop(name, None)

    def watch(self, *_arguments: Any) -> Generator[Any, None, None]:
        yield from ()


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    played = Clock()
    monkeypatch.setattr(probe_run, "time", played)
    monkeypatch.setattr(wait, "time", played)
    monkeypatch.setattr(slices_wait, "time", played)
    monkeypatch.setattr(probe_run, "time", played)
    return played


def run(cluster: Any, *wanted: PodProbe, recipe: Recipe = RECIPE) -> List[PodProbeResult]:
    return probe_run.run(cluster, wanted, recipe, "v1")


def pod(name: str, **own: Any) -> PodProbe:
    return PodProbe(name, "default", own.pop("node", "n1"), **own)


def test_a_pod_that_comes_to_its_end(clock: Clock) -> None:
    cluster = Cluster(look=GOOD)
    (found,) = run(cluster, pod("look"))
    assert found == PodProbeResult("look", "n1", "Succeeded", output="said\n", seconds=7.0)
    assert (cluster.deleted, cluster.pods) == (["look"], {})
    # It is looked at again, after a pause, as long as it has not ended.
    assert clock.now == pytest.approx(1.0)


def test_what_the_claim_got_is_read_while_the_pod_runs() -> None:
    device = {"request": "nic", "driver": "dra.net", "pool": "n1", "device": "pci-0000-1a-00-0", "adminAccess": None}
    step = {"resourceClaimStatuses": [{"name": "other"}, {"name": "rdma", "resourceClaimName": "made"}]}
    cluster = Cluster(look=[{**GOOD[0], **step}, GOOD[1], GOOD[2]])
    cluster.claims["made"] = {"status": {"allocation": {"devices": {"results": [device]}}}}
    (found,) = run(cluster, pod("look", template="two-nics"))
    del device["adminAccess"]
    assert (found.claim, found.allocation) == ("made", [device])


def _slice(*devices: Dict[str, Any]) -> List[Dict[str, Any]]:
    pool = {"name": "n1", "generation": 1}
    return [{"spec": {"driver": "dra.net", "nodeName": "n1", "pool": pool, "devices": list(devices)}}]


def _nic(name: str, *attributes: str) -> Dict[str, Any]:
    return {"name": name, "attributes": {attribute: {"string": "x"} for attribute in attributes}}


@pytest.mark.parametrize(
    ("steps", "seconds"),
    [
        # Away for two looks, then there without what only the netdev tells, then as before and with one attribute more.
        ([[], [], _slice(_nic("nic", "rdma")), _slice(_nic("nic", "rdma", "ifName", "ipv4"))], 1.5),
        ([_slice(_nic("nic", "rdma", "ifName"))], 0),
        # It does not come back.
        ([[]], 120),
    ],
)
def test_the_next_pods_find_the_devices_as_these_did(
    clock: Clock, steps: List[List[Dict[str, Any]]], seconds: float
) -> None:
    got = {"request": "nic", "driver": "dra.net", "pool": "n1", "device": "nic"}
    other = {"request": "gpu", "driver": "gpu.example.org", "pool": "shared", "device": "gpu"}
    step = {"resourceClaimStatuses": [{"name": "rdma", "resourceClaimName": "made"}]}
    times = []
    for wanted in (steps, [_slice()]):
        began = clock.now
        cluster = Cluster(look=[{**one, **step} for one in GOOD])
        cluster.claims["made"] = {"status": {"allocation": {"devices": {"results": [got, other]}}}}
        cluster.slices = [_slice(_nic("nic", "rdma", "ifName")), *wanted] if wanted is steps else wanted
        (found,) = run(cluster, pod("look", template="two-nics"))
        assert found.phase == "Succeeded"
        times.append(clock.now - began)
    # A device that was not published before is not waited for.
    assert times[0] - times[1] == pytest.approx(seconds, abs=0.01)


@pytest.mark.parametrize("claim", [None, {}, {"status": {}}, {"status": {"allocation": {}}}])
def test_a_claim_that_got_nothing(claim: Optional[Dict[str, Any]]) -> None:
    cluster = Cluster(
        look=[{**GOOD[0], "resourceClaimStatuses": [{"name": "rdma", "resourceClaimName": "made"}]}, *GOOD]
    )
    if claim is not None:
        cluster.claims["made"] = claim
    (found,) = run(cluster, pod("look", template="two-nics"))
    assert (found.phase, found.claim, found.allocation) == ("Succeeded", "made", [])


def test_the_client_is_made_when_its_server_has_an_address() -> None:
    cluster = Cluster(serve=GOOD, ask=GOOD)
    server, client = run(cluster, pod("serve", server=True), pod("ask", node="n2", peer="serve"))
    assert cluster.made == ["serve", "ask"]
    assert (server.phase, client.phase, client.node) == ("Succeeded", "Succeeded", "n2")
    assert sorted(cluster.deleted) == ["ask", "serve"]


def test_what_the_pods_of_a_pair_are_told() -> None:
    environment = {}
    for own, address in ((pod("serve", server=True), ""), (pod("ask", peer="serve"), "10.244.0.7")):
        (container,) = probes.manifest(own, RECIPE, address)["spec"]["containers"]
        environment[own.name] = {one["name"]: one["value"] for one in container["env"]}
    assert environment["serve"] == {"ZEROCOPY_SERVER": "1", "ZEROCOPY_PEER": ""}
    assert environment["ask"] == {"ZEROCOPY_SERVER": "", "ZEROCOPY_PEER": "10.244.0.7"}


@pytest.mark.parametrize(
    "steps",
    [
        # It ended before it had an address, and it has one and has ended.
        [{"phase": "Failed"}],
        [{"phase": "Failed", "podIP": "10.244.0.7"}],
    ],
)
def test_a_client_whose_server_failed_is_not_made(steps: List[Dict[str, Any]]) -> None:
    cluster = Cluster(serve=steps)
    server, client = run(cluster, pod("serve", server=True), pod("ask", peer="serve"))
    assert (server.phase, server.trouble) == ("Failed", "failed")
    assert (client.phase, client.trouble) == ("Pending", "its peer serve did not run")
    assert (cluster.made, cluster.deleted) == (["serve"], ["serve"])


def test_a_client_whose_server_was_refused_is_not_made() -> None:
    cluster = Cluster(other=GOOD)
    cluster.refused["serve"] = ApiError(403, {"message": "no pods here"})
    found = {one.name: one for one in run(cluster, pod("serve", server=True), pod("ask", peer="serve"), pod("other"))}
    assert (found["serve"].phase, found["serve"].trouble) == ("Refused", "no pods here")
    assert found["ask"].trouble == "its peer serve did not run"
    assert found["other"].phase == "Succeeded"


def test_nobody_is_waited_for_longer_than_all_have(clock: Clock) -> None:
    message = "0/2 nodes are available: 2 Insufficient rdma/hca"
    waiting = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "message": message}]}
    cluster = Cluster(serve=[waiting])
    server, client = run(cluster, pod("serve", server=True), pod("ask", peer="serve"))
    # The kubelet ends a pod before, if there is one.
    assert 135 <= clock.now < 137
    assert (server.phase, server.trouble, server.seconds, server.output) == ("Pending", message, None, "")
    assert client.trouble == "its peer serve did not run"
    assert cluster.deleted == ["serve"]


def test_each_pair_has_its_own_time(clock: Clock) -> None:
    # The server has an address after 100 seconds; its client gets as long again.
    slow = [{"phase": "Pending"}] * 200
    cluster = Cluster(serve=[*slow, *GOOD[1:2] * 150, GOOD[2]], ask=[*slow[:100], *GOOD])
    assert [one.phase for one in run(cluster, pod("serve", server=True), pod("ask", peer="serve"))] == ["Succeeded"] * 2
    assert clock.now > 135


@pytest.mark.parametrize(
    ("status", "events", "trouble"),
    [
        ({}, [], "failed"),
        ({"reason": "DeadlineExceeded"}, [], "DeadlineExceeded"),
        ({"reason": "Evicted"}, None, "Evicted"),
        ({"message": "Pod was active too long", "reason": "DeadlineExceeded"}, [], "Pod was active too long"),
        (
            {"reason": "DeadlineExceeded"},
            [
                {"uid": "uid-look", "lastTimestamp": "2026-11-20T10:00:01Z", "reason": "First", "message": "a"},
                {"uid": "uid-look", "eventTime": "2026-11-20T10:00:03Z", "reason": "Last", "message": "b"},
                {"uid": "uid-look", "lastTimestamp": "2026-11-20T10:00:02Z", "reason": "Second", "message": "c"},
                {"uid": "uid-of-another", "lastTimestamp": "2026-11-20T11:00:00Z", "reason": "Other", "message": "d"},
            ],
            "Last: b",
        ),
    ],
)
def test_why_a_pod_failed(status: Dict[str, Any], events: Optional[List[Dict[str, Any]]], trouble: str) -> None:
    cluster = Cluster(look=[GOOD[1], {"phase": "Failed", **status}])
    cluster.events = events
    (found,) = run(cluster, pod("look"))
    assert (found.phase, found.trouble, found.output) == ("Failed", trouble, "said\n")


def test_a_log_that_cannot_be_read_is_told() -> None:
    cluster = Cluster(look=GOOD)
    cluster.logs["look"] = ClusterError("the kubelet does not answer")
    (found,) = run(cluster, pod("look"))
    assert (found.phase, found.output) == ("Succeeded", "")
    assert found.trouble == "its log cannot be read: the kubelet does not answer"


def test_pods_are_taken_away_whatever_happens() -> None:
    cluster = Cluster(look=GOOD)
    listed = cluster.get

    def get(path: str, query: Any = None) -> Dict[str, Any]:
        if cluster.made:
            raise ClusterError("the API server is gone")
        return listed(path, query)

    cluster.get = get  # type: ignore[method-assign]  # for this test
    with pytest.raises(ClusterError, match="is gone"):
        run(cluster, pod("look"))
    assert cluster.deleted == ["look"]


def left(name: str, phase: str, *managers: str) -> Dict[str, Any]:
    entries = [{"manager": manager, "operation": "Update"} for manager in managers or ("zerocopy.rdma",)]
    entries.append({"manager": "kubelet", "operation": "Update", "subresource": "status"})
    meta = {"name": name, "namespace": "default", "uid": f"uid-of-{name}", "managedFields": entries}
    return {"metadata": meta, "spec": {}, "status": {"phase": phase}}


def test_what_a_killed_run_left_under_these_names_goes_first() -> None:
    cluster: Any = Cluster()
    cluster.pods = {name: left(name, phase) for name, phase in (("a", "Succeeded"), ("b", "Failed"), ("c", "Failed"))}
    assert probe_run.clear(cluster, [pod("a"), pod("b"), pod("d")]) == []
    assert cluster.deleted == ["a", "b"]


def test_pods_of_others_are_left_alone_whatever_they_are_called() -> None:
    """One of them has the name of a probe, and ends in the middle of it."""
    cluster = Cluster(look_x7k2p=GOOD, look=[{"phase": "Running"}, {"phase": "Failed"}])
    theirs = {name: left(name, phase, "kubectl") for name, phase in (("look", "Running"), ("old", "Failed"))}
    cluster.pods = dict(theirs)
    (said,) = probe_run.clear(cluster, [pod("look")])  # type: ignore[arg-type]  # played
    text = "there are pods with the label zerocopy.rdma/probe that do not belong to this run: default/look."
    assert said.startswith(text)
    (found,) = run(cluster, pod("look"))
    assert (found.name, found.phase) == ("look", "Succeeded")
    assert (cluster.made, cluster.deleted, cluster.pods.keys()) == (["look-x7k2p"], ["look-x7k2p"], theirs.keys())


def test_a_time_is_known_when_a_container_has_begun() -> None:
    def seconds(**status: Any) -> Optional[float]:
        return probe_run._seconds({"metadata": {"creationTimestamp": MADE}, "status": status})

    assert seconds() is None
    # The clock of the node is behind that of the API server.
    assert seconds(containerStatuses=[{"state": {"running": {"startedAt": "2026-11-20T09:59:58Z"}}}]) == 0
    assert seconds(containerStatuses=[{}, {"state": {"waiting": {}}}]) is None
    assert seconds(containerStatuses=[{"state": {"waiting": {}}}, {"state": {"running": {"startedAt": BEGAN}}}]) == 7.0
    assert seconds(containerStatuses=RAN) == 7.0


def test_what_others_hold() -> None:
    def holder(name: str, node: Optional[str], *resources: str) -> Dict[str, Any]:
        own = {"resources": {"limits": dict.fromkeys(resources, "1")}}
        return {"metadata": {"name": name, "namespace": "serving"}, "spec": {"nodeName": node, "containers": [own]}}

    cluster: Any = Cluster()
    cluster.elsewhere = [
        holder("decode-0", "n1", "rdma/hca", "nvidia.com/gpu"),
        holder("decode-1", "n9", "rdma/hca"),
        holder("waits", None, "rdma/hca"),
    ]
    device = {"driver": "dra.net", "pool": "n1", "device": "pci-0000-1a-00-0"}
    cluster.claims = {
        "one": {"status": {"allocation": {"devices": {"results": [device]}}}},
        "none": {"status": {}},
        "new": {},
    }
    held = [{"resource": "rdma/hca", "pod": "serving/decode-0"}]
    claimed = [{"driver": "dra.net", "device": "pci-0000-1a-00-0"}]
    limits = {"rdma/hca": 1}
    assert probe_run.in_use(cluster, [pod("look", limits=limits)], "v1") == {"n1": claimed + held}
    assert probe_run.in_use(cluster, [pod("look", limits=limits)], "") == {"n1": held}
    assert probe_run.in_use(cluster, [pod("look", template="x")], "v1") == {"n1": claimed}
    assert probe_run.in_use(cluster, [pod("look")], "") == {}


def test_a_pod_has_what_its_probe_says() -> None:
    whole = PodProbe(
        "look",
        "serving",
        "n1",
        template="two-nics",
        limits={"nvidia.com/gpu": 2},
        annotations={"a": "b"},
        capabilities=["IPC_LOCK"],
        environment={"X": "1"},
        host_network=True,
        host_sys=True,
    )
    recipe = Recipe("image", "script", 60, [{"operator": "Exists"}], ["mirror"])
    made = probes.manifest(whole, recipe)
    assert made["metadata"] == {
        "name": "look",
        "namespace": "serving",
        "labels": {"zerocopy.rdma/probe": "pod"},
        "annotations": {"a": "b"},
    }
    spec = made["spec"]
    assert (spec["hostNetwork"], spec["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    assert (spec["activeDeadlineSeconds"], spec["restartPolicy"]) == (60, "Never")
    assert (spec["tolerations"], spec["imagePullSecrets"]) == ([{"operator": "Exists"}], [{"name": "mirror"}])
    assert spec["resourceClaims"] == [{"name": "rdma", "resourceClaimTemplateName": "two-nics"}]
    assert spec["automountServiceAccountToken"] is False
    (term,) = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term == {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    (container,) = spec["containers"]
    assert container["resources"] == {"limits": {"nvidia.com/gpu": "2"}, "claims": [{"name": "rdma"}]}
    assert container["securityContext"] == {"capabilities": {"add": ["IPC_LOCK"]}}
    assert {"name": "X", "value": "1"} in container["env"]
    assert spec["volumes"] == [{"name": "sys", "hostPath": {"path": "/sys", "type": "Directory"}}]
    assert container["volumeMounts"] == [{"name": "sys", "mountPath": "/host/sys", "readOnly": True}]
    assert (container["image"], container["command"]) == ("image", ["/bin/sh", "-c", "script"])
    bare = probes.manifest(pod("look"), RECIPE)
    assert bare["spec"]["containers"][0]["resources"] == {}
    absent = {"hostNetwork", "resourceClaims", "imagePullSecrets", "volumes"}
    assert not absent & set(bare["spec"])
    assert "annotations" not in bare["metadata"]
    assert "securityContext" not in bare["spec"]["containers"][0]


@pytest.mark.parametrize(
    ("claims", "statuses", "name"),
    [
        ([], None, ""),
        ([{"name": "rdma", "resourceClaimName": "own"}], None, "own"),
        ([{"name": "other", "resourceClaimName": "own"}], None, ""),
        ([{"name": "rdma", "resourceClaimTemplateName": "t"}], [], ""),
        ([{"name": "rdma", "resourceClaimTemplateName": "t"}], [{"name": "rdma"}], ""),
        ([{"name": "rdma", "resourceClaimTemplateName": "t"}], [{"name": "rdma", "resourceClaimName": "made"}], "made"),
        ([{"name": "rdma", "resourceClaimTemplateName": "t"}], [{"name": "x", "resourceClaimName": "made"}], ""),
    ],
)
def test_the_claim_of_a_pod(claims: Any, statuses: Any, name: str) -> None:
    status = {} if statuses is None else {"resourceClaimStatuses": statuses}
    assert probes.claim_of({"spec": {"resourceClaims": claims}, "status": status}) == name
