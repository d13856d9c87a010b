# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The pod ring with claims: which pods are run, what they say of themselves, and what is made of it."""

from __future__ import annotations

import copy
from typing import Any, Callable

import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import bandwidth, probe, probe_run, report
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import plan as pod_plan
from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import part
from ansible_collections.zerocopy.rdma.tests.unit._prove.pods import (
    HOSTS,
    KIND,
    PAIRED,
    asking,
    between,
    failed,
    make_judged,
    make_pods,
    plan,
    planned,
    waves,
)
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import written

# Fixtures that are defined elsewhere.
__all__ = ["make_judged", "make_pods"]


def test_what_the_command_line_sets_is_a_text(facts_of: Callable[..., Any]) -> None:
    """As with -e rdma_verify_pod_nodes=1 and rdma_verify_loopback=false, which preflight accepts."""
    found = plan(facts_of, [PAIRED])
    assert waves(found, sample="1", loopback="false") == waves(found, sample=1, loopback=False)
    assert waves(found, sample="0") == waves(found, sample=0) != waves(found, sample=1)


@pytest.mark.parametrize(
    ("table", "verdict", "text"),
    [
        (["0x8001"], "pass", "is a full member of partition 0x8001 (in the pod)"),
        (["0x0001"], "warn", "is only a limited member of partition 0x8001 (0x0001)"),
        (["0xffff"], "fail", "is not a member of partition 0x8001: it has 0xffff (in the pod)"),
        ([], "impossible", "the P_Keys of mlx5_"),
    ],
)
def test_partitions_are_those_that_a_pod_sees(
    pods: list[dict[str, Any]], judged: Callable[..., Any], table: list[str], verdict: str, text: str
) -> None:
    """Whatever the facts of the node say, as a VF has a table of its own."""
    for pod in pods:
        lines = pod["result"]["output"].splitlines()
        at = lines.index("==> pkeys") + 1
        ports = [line.split()[:2] for line in lines[at : lines.index("==> netdevs")]]
        lines[at : lines.index("==> netdevs")] = [" ".join([*port, key]) for port in ports for key in table]
        pod["result"]["output"] = "\n".join(lines)
    found = judged(pods, hostvars={name: {"rdma_verify_pkey": "0x1"} for name in HOSTS})
    own = [check for check in found["checks"] if check["id"] == "pod.pkey"]
    assert len(own) == 4
    assert {check["verdict"] for check in own} == {verdict}
    assert all(text in check["text"] for check in own)


def test_a_pod_that_got_everything(pods: list[dict[str, Any]], judged: Callable[..., Any]) -> None:
    found = judged(pods)
    assert failed(found) == {}
    ids = {check["id"] for check in found["checks"]}
    assert ids >= {"pod.runs", "pod.allocation", "pod.path", "pod.nodes", "pod.port", "pod.netdev", "pod.memlock"}
    assert "pod.return" in ids
    assert {one["verdict"] for one in found["bandwidth"]} == {"pass"}
    assert between(found) == [("n2", "n1"), ("n2", "n1")]
    alone = [one for one in found["bandwidth"] if one["test"] == bandwidth.LOOPBACK]
    assert [one["from"]["host"] for one in alone] == ["n1", "n1", "n2", "n2"]
    assert all(one["from"] == one["to"] for one in alone)


def test_a_pod_without_its_netdev(pods: list[dict[str, Any]], judged: Callable[..., Any]) -> None:
    output = pods[0]["result"]["output"]
    start, end = output.index("==> netdevs"), output.index("==> addresses")
    pods[0]["result"]["output"] = output[:start] + "==> netdevs\neth0 02:00:00:00:00:01 1500 1\n" + output[end:]
    assert "is not in the pod" in failed(judged(pods))["pod.netdev"]


@pytest.mark.parametrize(
    ("old", "new", "check", "said"),
    [
        ("unlimited            unlimited", "8388608              8388608", "pod.memlock", "8192 KiB"),
        ("4: ACTIVE", "1: DOWN", "pod.port", "is DOWN in the pod"),
        ("==> nodes\nrdma_cm\nuverbs", "==> nodes\nrdma_cm\nother", "pod.nodes", "lacks uverbs"),
        ("==> nodes\nrdma_cm", "==> nodes\nrdma_cm\nuverbs99", "pod.nodes", "uverbs99 of other NICs"),
        ("==> nodes\nrdma_cm\n", "==> nodes\n", "pod.nodes", "lacks rdma_cm"),
        ("eth0 02:00:00:00:00:01 1500 1\n", "", "pod.cni", "has no eth0 of the CNI, only "),
        ("eth0 02:00:00:00:00:01 1500 1\n", "eth0 02:00:00:00:00:01 1500 0\n", "pod.cni", "has no LOWER_UP"),
        ("1: eth0    inet 10.244.0.7/24", "1: lo    inet 127.0.0.1/8", "pod.cni", "has no address"),
        ("==> opens\nuverbs", "==> opens\nother", "pod.fallback", "the container cannot open the device nodes of"),
        ("==> end", "", "pod.runs", "its log is not complete"),
        (" BW average[Gb/sec]", " BW nothing[Gb/sec]", "pod.bandwidth", "failed, its last message was"),
    ],
)
def test_what_a_pod_lacks(
    pods: list[dict[str, Any]], judged: Callable[..., Any], old: str, new: str, check: str, said: str
) -> None:
    # The second one, since that is the one which measures.
    assert old in pods[1]["result"]["output"]
    pods[1]["result"]["output"] = pods[1]["result"]["output"].replace(old, new)
    found = failed(judged(pods))
    assert said in found[check]


def _down(found: dict[str, Any], hca: str, port: int = 1) -> dict[str, Any]:
    """The facts with this port down, which is a second one of its HCA if it has none of this number."""
    changed = copy.deepcopy(found)
    ports = next(each for each in changed["hcas"] if each["name"] == hca)["ports"]
    if port not in [each["number"] for each in ports]:
        ports.append({**ports[0], "number": port, "netdev": None})
    next(each for each in ports if each["number"] == port)["state"] = "DOWN"
    return changed


def test_a_nic_that_no_pod_can_use_is_named(
    pods: list[dict[str, Any]], judged: Callable[..., Any], facts_of: Callable[..., Any]
) -> None:
    """It was not ACTIVE before either, so the pod has lost nothing; but it has one NIC, and claims two."""
    (name, *_others) = [line.split()[0] for line in pods[0]["result"]["output"].splitlines() if ": ACTIVE" in line]
    pods[0]["result"]["output"] = pods[0]["result"]["output"].replace(
        f"{name} 1 InfiniBand 4: ACTIVE", f"{name} 1 InfiniBand 1: DOWN"
    )
    own = _down(facts_of(KIND), name)
    found = judged(pods[:1], before={"n1": own}, after={"n1": own})
    ports = [check for check in found["checks"] if check["id"] == "pod.port"]
    assert sorted(check["verdict"] for check in ports) == ["pass", "warn"]
    assert failed(found) == {
        "pod.port": f"{name}/1 is DOWN in the pod, as it was not ACTIVE on the host either: the pod cannot use it"
    }
    (fallback,) = [check for check in found["checks"] if check["id"] == "pod.fallback"]
    assert (fallback["verdict"], fallback["text"].partition(": ")[0]) == ("pass", "programs find RDMA on 1 of 2 NICs")


def test_a_card_may_use_one_of_its_ports(
    pods: list[dict[str, Any]], judged: Callable[..., Any], facts_of: Callable[..., Any]
) -> None:
    (name, *_others) = [line.split()[0] for line in pods[0]["result"]["output"].splitlines() if ": ACTIVE" in line]
    pods[0]["result"]["output"] = pods[0]["result"]["output"].replace(
        "==> pkeys\n", f"{name} 2 InfiniBand 1: DOWN\n==> pkeys\n"
    )
    own = _down(facts_of(KIND), name, 2)
    assert failed(judged(pods[:1], before={"n1": own}, after={"n1": own})) == {}


def test_a_log_is_read_whatever_is_in_it() -> None:
    lines = ["==> ports", "mlx5_0 1 InfiniBand 4: ACTIVE", "mlx5_0 \u00b2 InfiniBand 4: ACTIVE", "short"]
    lines += ["==> netdevs", "eth0 02:00:00:00:00:01 1500 1", f"odd 02:00:00:00:00:02 {'9' * 5000} 1"]
    lines += ["==> addresses", "1: eth0    inet 10.244.0.7/24", "2: nobody    inet 10.0.0.1/24"]
    lines += ["==> write_bw mlx5_0 1", "rows", "==> write_bw mlx5_0 \u0663", "==> loopback mlx5_0", "==> write_bw"]
    lines += ["==>  ", "a title of blanks"]
    found = report.report("\n".join(["before all", *lines]))
    assert found.ports == {("mlx5_0", 1): ("InfiniBand", "ACTIVE")}
    assert {name: (own.mtu, own.lower_up, own.addresses) for name, own in found.netdevs.items()} == {
        "eth0": (1500, True, ["10.244.0.7/24"])
    }
    assert (found.bandwidth, found.loopback) == ({("mlx5_0", 1): "rows"}, {})
    assert (found.has_addresses, found.has_perftest, found.complete) == (True, True, False)


def test_a_log_that_cannot_be_read_costs_no_other_pod_its_verdicts(
    pods: list[dict[str, Any]], judged: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = report.report

    def reading(output: str) -> report.PodReport:
        if output == "odd":
            raise IndexError(output)
        return whole(output)

    monkeypatch.setattr(report, "report", reading)
    pods[0]["result"]["output"] = "odd"
    checks = judged(pods)["checks"]
    assert [(check["id"], check["verdict"]) for check in checks if check["host"] == "n1"] == [("pod.answers", "fail")]
    assert {check["id"] for check in checks if check["host"] == "n2"} >= {"pod.runs", "pod.nodes", "pod.memlock"}


@pytest.mark.parametrize(
    ("limit", "memlock"),
    [("unlimited", "unlimited"), ("65536", "65536"), ("a lot", ""), ("9" * 20, ""), ("65536K", ""), ("-1", "")],
)
def test_a_limit_that_is_none_is_unknown(limit: str, memlock: str) -> None:
    text = f"==> limits\nMax locked memory         {limit}     unlimited            bytes\n==> end\n"
    assert report.report(text).memlock == memlock


def test_a_pod_whose_link_is_down(pods: list[dict[str, Any]], judged: Callable[..., Any]) -> None:
    output = pods[0]["result"]["output"]
    lines = [line[:-2] + " 0" if line.endswith(" 1") and "eth0" not in line else line for line in output.splitlines()]
    pods[0]["result"]["output"] = "\n".join(lines)
    assert "no LOWER_UP" in failed(judged(pods))["pod.netdev"]


def test_a_nic_that_is_called_as_the_netdev_of_the_cni(pods: list[dict[str, Any]], judged: Callable[..., Any]) -> None:
    result = pods[0]["result"]
    netdevs = result["output"].partition("==> netdevs\n")[2].splitlines()
    cni, nic = netdevs[0], netdevs[1]
    result["output"] = result["output"].replace(f"{cni}\n", "").replace(nic, "eth0 " + nic.partition(" ")[2])
    assert failed(judged(pods))["pod.cni"] == "eth0 is the RDMA NIC; the netdev of the CNI is gone"


def test_a_pod_that_never_ran_is_the_users_when_others_hold_the_nics(
    pods: list[dict[str, Any]], judged: Callable[..., Any]
) -> None:
    trouble = "0/2 nodes are available: 2 cannot allocate all claims."
    pods[0]["result"] |= {"phase": "Pending", "trouble": trouble, "seconds": None, "allocation": [], "output": ""}
    free, busy = (
        judged(pods[:1]),
        judged(pods[:1], in_use={"n1": [{"driver": "dra.net", "device": "pci-0000-1a-00-0"}]}),
    )
    assert [(check["id"], check["verdict"]) for check in free["checks"]] == [
        ("pod.runs", "fail"),
        ("pod.allocation", "impossible"),
    ]
    assert [check["verdict"] for check in busy["checks"]] == ["impossible", "impossible"]


_LATE = "attached 2/6 network devices to pod default/p within the container runtime NRI request timeout; failing the"


@pytest.mark.parametrize(
    ("trouble", "remedy"),
    [
        (
            f"NetworkDeviceAttachTimeout: {_LATE} sandbox. Increase NRI plugin_request_timeout",
            "Raise rdma_runtime_nri_",
        ),
        ("NetworkDeviceAttachFailed: failed to attach network device enp1: file exists", "the log of the DRANET pod"),
        ("FailedPrepareDynamicResources: claim p: claim not found", "the log of the DRANET pod"),
        ("FailedMount: no such volume", "the log of the kubelet"),
    ],
)
def test_what_a_pod_that_did_not_start_needs(
    pods: list[dict[str, Any]], judged: Callable[..., Any], trouble: str, remedy: str
) -> None:
    pods[0]["result"] |= {"phase": "Pending", "trouble": trouble, "seconds": None, "allocation": [], "output": ""}
    (check, *_others) = judged(pods[:1])["checks"]
    assert (check["id"], check["verdict"]) == ("pod.runs", "fail")
    assert trouble in check["text"]
    assert remedy in check["remedy"]


def test_a_nic_that_does_not_come_back(
    pods: list[dict[str, Any]], judged: Callable[..., Any], facts_of: Callable[..., Any]
) -> None:
    gone, poor = copy.deepcopy(facts_of(KIND)), copy.deepcopy(facts_of(KIND))
    gone["hcas"] = []
    for hca in poor["hcas"]:
        for port in hca["ports"]:
            if port["netdev"]:
                port["netdev"].update(mtu=1500, addresses=[])
    assert "is not back on the host" in failed(judged(pods[:1], after={"n1": gone}))["pod.return"]
    assert "came back without" in failed(judged(pods[:1], after={"n1": poor}))["pod.return"]


@pytest.mark.parametrize("silent", [{}, {"n2": None}, {"n1": None, "n2": None}])
def test_a_host_that_gives_no_facts_after_its_pod(
    pods: list[dict[str, Any]], judged: Callable[..., Any], facts_of: Callable[..., Any], silent: dict[str, Any]
) -> None:
    """Nobody knows then whether it has its NICs back."""
    found = judged(pods, after={**{name: facts_of(KIND) for name in HOSTS}, **silent})
    returns = {check["host"]: check for check in found["checks"] if check["id"] == "pod.return"}
    assert {host: check["verdict"] for host, check in returns.items()} == {
        host: "fail" if host in silent else "pass" for host in HOSTS
    }
    for host in silent:
        assert returns[host]["text"].startswith("it is unknown whether the host has mlx5_")


def test_facts_after_a_pod_that_cannot_be_read_are_none(pods: list[dict[str, Any]], judged: Callable[..., Any]) -> None:
    assert "gave no facts of use" in failed(judged(pods[:1], after={"n1": {"hcas": "many"}}))["pod.return"]


def test_every_node_gives_facts_after_each_wave() -> None:
    """What is registered for a node that skips the task would take the place of its facts."""
    tasks = yaml.safe_load((variables.ROLES / "rdma_verify/tasks/wave.yml").read_text("utf-8"))
    (block,) = [task for task in tasks if "block" in task]
    (gather,) = block["block"]
    assert gather["register"] == "__rdma_verify_after"
    assert "when" not in gather
    assert block["when"] == "inventory_hostname in __rdma_verify_pods_plan.nodes"


def test_routes_and_rules_that_do_not_come_back(
    pods: list[dict[str, Any]], judged: Callable[..., Any], facts_of: Callable[..., Any]
) -> None:
    before, after = copy.deepcopy(facts_of(KIND)), copy.deepcopy(facts_of(KIND))
    routes, rules = [{"to": "10.4.0.0/16", "table": 100}], [{"source": "10.4.0.1/32", "table": 100}]
    for facts, own in ((before, (routes, rules)), (after, ([], []))):
        for netdev in (port["netdev"] for hca in facts["hcas"] for port in hca["ports"] if port["netdev"]):
            netdev["routes"], netdev["rules"] = own
    text = failed(judged(pods[:1], before={"n1": before}, after={"n1": after}))["pod.return"]
    assert "came back without route to 10.4.0.0/16 (table 100) and rule from 10.4.0.1/32 (table 100)" in text
    # Where the kernel did not answer, nothing is known.
    assert "pod.return" not in failed(judged(pods[:1], before={"n1": before}, after={"n1": facts_of(KIND)}))


def test_waves_never_put_two_pods_that_ask_on_a_node(facts_of: Callable[..., Any]) -> None:
    found = plan(facts_of, [PAIRED, {"name": "h100-1nic", "nics": 1}])
    planned = [asking(wave) for wave in waves(found)]
    assert [[pod.node for pod in wave] for wave in planned] == [list(HOSTS), list(HOSTS)]
    items = [one for own in found["sets"] for one in own["objects"] if one["kind"] == "ResourceClaimTemplate"]
    assert {pod.alias for wave in planned for pod in wave} == {one["metadata"]["name"] for one in items}
    assert all(str(pod.template).startswith(f"{pod.alias}-") and pod.template != pod.alias for pod in planned[0])
    assert {tuple(pod.capabilities) for wave in planned for pod in wave} == {("IPC_LOCK",)}
    server, client = planned[0]
    assert server.server
    assert client.peer == server.name
    assert len({pod.name for wave in waves(found) for pod in wave}) == 6
    assert [[pod.node for pod in asking(wave)] for wave in waves(found, sample=1)] == [["n1"], ["n1"]]
    assert not any(pod.peer or pod.server for wave in waves(found, bandwidth=False) for pod in wave)
    assert not any(pod.environment for wave in waves(found, loopback=False) for pod in wave)


def test_pods_with_single_claims(facts_of: Callable[..., Any], judged: Callable[..., Any]) -> None:
    """Each on its host, one after another there."""
    entries = [{"name": "prefill", "host": "n1", "rail": 0}, {"name": "decode", "host": "n1", "rail": 1}]
    found = plan(facts_of, [], rdma_claims_claims=entries)
    waves_of_pods = planned(found)
    aliases = [[entry["alias"] for entry in wave if entry["alias"] != pod_plan.NOTHING] for wave in waves_of_pods]
    assert aliases == [["prefill"], ["decode"]]
    pod = waves_of_pods[0][0]["pod"]
    assert pod["node"] == "n1"
    # The module takes one of the two.
    assert pod["claim"].startswith("prefill-")
    assert "template" not in pod
    made = probe.manifest(probe.PodProbe(**pod), probe.Recipe("image", "true"))
    assert made["spec"]["resourceClaims"] == [{"name": "rdma", "resourceClaimName": pod["claim"]}]
    assert probe.claim_of(made) == pod["claim"]
    result = {"name": pod["name"], "phase": probe.IN_USE, "trouble": "claim x is in use by pods prefill-0"}
    result |= {"seconds": None, "allocation": [], "output": ""}
    first = judged([{**waves_of_pods[0][0], "result": result}], found)["checks"][0]
    assert (first["verdict"], first["text"]) == (
        "impossible",
        "no pod was created: claim x is in use by pods prefill-0",
    )


def test_a_claim_that_others_use_is_left_alone() -> None:
    class Cluster:
        """An API server that has one claim and takes no pod."""

        def find(self, path: str) -> dict[str, Any]:
            assert path == "/apis/resource.k8s.io/v1/namespaces/serving/resourceclaims/prefill-1"
            return {"status": {"reservedFor": [{"resource": "pods", "name": "prefill-0", "uid": "1"}]}}

    client: Any = Cluster()
    run = probe_run._PodProbeRun(client, probe.Recipe("image", "true"), "/apis/resource.k8s.io/v1")
    run.make(probe.PodProbe("look", "serving", "n1", claim="prefill-1"))
    assert run.live == {}
    assert (run.found["look"].phase, run.found["look"].trouble) == (
        probe.IN_USE,
        "claim prefill-1 is in use by pods prefill-0",
    )


def test_pods_on_a_node_that_has_moved(pods: list[dict[str, Any]], facts_of: Callable[..., Any]) -> None:
    """They are judged by its facts of now; what other nodes have is none of its affair."""
    found = plan(facts_of, [PAIRED])
    for each in pods:
        each["result"]["node"] = each["pod"]["node"]
    pods[1]["result"]["output"] = ""
    hostvars = {name: {"ansible_facts": {"rdma": facts_of(KIND)}} for name in HOSTS}
    wave = {"item": pods, "pods": [each["result"] for each in pods]}
    judged = {name: part("pods", hostvars, plan=written(found), probed=[wave], node=name)["checks"] for name in HOSTS}
    assert {name: {check["host"] for check in checks} for name, checks in judged.items()} == {
        "n1": {"n1"},
        "n2": {"n2"},
    }
    assert "pod.runs" not in {check["id"] for check in judged["n1"] if check["verdict"] == "fail"}
    # Nobody has looked whether it has its NICs back.
    assert "pod.return" not in {check["id"] for checks in judged.values() for check in checks}
    assert "pod.runs" in {check["id"] for check in judged["n2"] if check["verdict"] == "fail"}
