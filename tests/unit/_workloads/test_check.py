# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What examples expect of a pod's NICs, and the init container that compares it."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import PodRequest
from ansible_collections.zerocopy.rdma.plugins.module_utils._workloads import expected, pod
from ansible_collections.zerocopy.rdma.plugins.module_utils._workloads.pod import GroupAsk, PodContainer, Settings
from ansible_collections.zerocopy.rdma.tests.unit._workloads.workload_examples import GROUPS, IMAGES, Facts, made

CHECK = ["/bin/sh", "/opt/zerocopy-rdma/rdma-env.sh", "--check"]
MTU = "ZEROCOPY_RDMA_MTU"
CONTAINER = """\
kind: Pod
apiVersion: v1
metadata: {name: decode}
spec:
  containers:
    - name: vllm
      image: registry.example.org/vllm:1
      command: [vllm, serve]
"""


def specs(tree: Any) -> list[dict[str, Any]]:
    """Each pod spec in a manifest."""
    own = [tree] if isinstance(tree, dict) and "containers" in tree else []
    values = list(tree.values()) if isinstance(tree, dict) else tree if isinstance(tree, list) else []
    return own + [spec for value in values for spec in specs(value)]


def environment(container: dict[str, Any]) -> dict[str, str]:
    return {entry["name"]: entry.get("value", "") for entry in container.get("env", [])}


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_without_a_wish_nothing_is_expected(facts_of: Facts, group: str) -> None:
    found = made(facts_of, group)
    assert found == made(facts_of, group, check="none", check_image="registry.example.org/busybox:1")
    texts = [example["content"] for example in found["examples"] if not example["path"].endswith("rdma-env.yml")]
    assert not [text for text in texts if MTU in text or "initContainers" in text]


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_an_init_container_has_what_the_container_has(facts_of: Facts, group: str) -> None:
    """Devices, claims and limits are per container, so the check has to have the same ones."""
    found = made(facts_of, group, check="init")
    assert found["problems"] == []
    seen = 0
    for example in found["examples"]:
        assert list(yaml.safe_load_all(example["content"])) == example["objects"]
        for spec in specs(example["objects"]):
            (container,) = spec["containers"]
            # The head of Ray and the launcher of MPI have no NIC. KServe has the images.
            if not container.get("volumeMounts") or "image" not in container:
                assert "initContainers" not in spec
                continue
            (check,) = spec["initContainers"]
            seen += 1
            assert (check["name"], check["image"], check["command"]) == ("rdma-check", container["image"], CHECK)
            for name in ("resources", "securityContext"):
                assert check.get(name) == (container.get(name) or None)
            assert check["volumeMounts"][0] in container["volumeMounts"]
            # What the script reads, and nothing of the application.
            wanted = {name: value for name, value in environment(container).items() if not name.startswith("VLLM")}
            assert environment(check) == wanted
    assert seen >= 8


def test_the_mtu_is_that_of_the_nodes(facts_of: Facts) -> None:
    group = "roce_h100"
    node = facts_of("case-h100-roce")
    least = min(port["netdev"]["mtu"] for hca in node["hcas"] for port in hca["ports"] if port.get("netdev"))
    for check in ("start", "init"):
        found = made(facts_of, group, check=check)
        (spec,) = [
            one
            for example in found["examples"]
            if example["path"].endswith("/volcano.yml")
            for one in specs(example["objects"])
        ][:1]
        for container in [*spec["containers"], *spec.get("initContainers", [])]:
            assert environment(container)[MTU] == str(least)
    # A site knows better.
    other = made(facts_of, group, check="start", environment={MTU: "1280"})
    assert other["adds"][group].popitem()[1]["container"]["env"][-1] == {"name": MTU, "value": "1280"}


def nodes(facts_of: Facts, *mtus: int | None) -> dict[str, Any]:
    found = {}
    for place, mtu in enumerate(mtus):
        facts = copy.deepcopy(facts_of("case-h100-roce"))
        for hca in facts["hcas"]:
            for port in hca["ports"]:
                port["netdev"]["mtu"] = mtu
        found[f"n{place}"] = read.facts(facts)
    return found


def test_the_least_mtu_of_the_nics_that_a_request_can_get(facts_of: Facts) -> None:
    known = nodes(facts_of, 9000, 4200)

    def mtu(hosts: dict[str, tuple[str, ...]], facts: Any = None, **more: Any) -> int:
        return expected.mtu_of_nodes(PodRequest("r", hosts, **{"moves": True, **more}), facts or known)

    assert mtu({"n0": ()}) == 9000
    assert mtu({"n0": (), "n1": ("mlx5_0",)}) == 4200
    assert mtu({"n0": ("mlx5_99",)}) == expected.UNKNOWN
    # A node without facts may have a smaller one.
    assert mtu({"n0": (), "n2": ()}) == expected.UNKNOWN
    assert mtu({"n0": ()}, nodes(facts_of, None)) == expected.UNKNOWN
    # Pods do not see the netdevs of the host.
    assert mtu({"n0": ()}, moves=False) == expected.UNKNOWN
    assert mtu({"n0": ()}, moves=False, host_network=True) == 9000
    # Ports that no pod gets.
    for port in known["n1"].usable:
        if port.hca != "mlx5_0":
            next(hca for hca in known["n1"].hcas if hca.name == port.hca).ports[0].netdev.mtu = 1500
    known["n1"].usable = [port for port in known["n1"].usable if port.hca == "mlx5_0"]
    assert mtu({"n1": ()}) == 4200


def test_infiniband_has_none(facts_of: Facts) -> None:
    facts = {"n": read.facts(facts_of("h100-01"))}
    assert expected.mtu_of_nodes(PodRequest("r", {"n": ()}, moves=True), facts) == expected.UNKNOWN


def test_a_claim_with_an_mtu_of_its_own(facts_of: Facts) -> None:
    def spec(*mtus: int | None) -> dict[str, Any]:
        entries = [{"opaque": {"driver": "dra.net", "parameters": {"interface": {"mtu": mtu}}}} for mtu in mtus]
        return {"devices": {"requests": [], "config": entries}}

    assert expected.mtu_of_claim({"devices": {"requests": []}}) == expected.UNKNOWN
    assert expected.mtu_of_claim(spec(4200)) == 4200
    assert expected.mtu_of_claim(spec(9000, 4200)) == 4200
    assert expected.mtu_of_claim(spec(4200, None)) == expected.UNKNOWN
    assert expected.mtu_of_claim({"devices": {"config": [{"opaque": {"parameters": {"interface": None}}}]}}) == 0


def test_the_mtu_of_a_template_of_the_plan(facts_of: Facts, monkeypatch: pytest.MonkeyPatch) -> None:
    templates = [{"name": "small", "nics": 1, "mtu": 1500}, {"name": "plain", "nics": 1}]
    monkeypatch.setitem(GROUPS, "rails", (["case-h100-roce"], {"rdma_claims_templates": templates}))
    adds = made(facts_of, "rails", check="start")["adds"]["rails"]
    found = {name: environment(parts["container"])[MTU] for name, parts in adds.items()}
    assert found.pop("small") == "1500"
    assert {*found.values()} == {"9000"}


def test_another_image_says_nothing_about_libraries() -> None:
    own = {
        "image": "a",
        "env": [{"name": "LD_PRELOAD", "value": "x"}, {"name": "ZEROCOPY_RDMA_LIBRARIES", "value": "all"}],
    }
    assert pod.init_container(own, "")["env"] == pod.init_container(own, "a")["env"] == own["env"]
    other = pod.init_container(own, "busybox")
    assert (other["image"], other["env"]) == ("busybox", [{"name": "ZEROCOPY_RDMA_LIBRARIES", "value": "none"}])


def test_without_an_image_only_the_script_checks() -> None:
    ask, settings = GroupAsk(PodRequest("r", {}, limits={"rdma/r": 1}), mtu=4200), Settings(IMAGES, "m", check="init")
    parts = pod.adds(ask, settings)
    # For programs of users, who know the image.
    (check,) = parts["pod"]["initContainers"]
    assert "image" not in check
    made_of = pod.pod_of(PodContainer("main", "", ["serve"]), parts)
    assert "initContainers" not in made_of
    assert environment(made_of["containers"][0])[MTU] == "4200"
    own = pod.pod_of(
        PodContainer("main", "", ["serve"]), pod.adds(ask, Settings(IMAGES, "m", check="init", check_image="b"))
    )
    assert own["initContainers"][0]["image"] == "b"


def test_manifests_of_a_site(facts_of: Facts, tmp_path: Path) -> None:
    def completed(text: str, **settings: Any) -> dict[str, Any]:
        path = tmp_path / "decode.yml"
        path.write_text(text)
        given = {"path": str(path), "container": "vllm", "group": "h100"}
        return made(facts_of, "h100", manifests=[given], **settings)

    def text(found: dict[str, Any]) -> str:
        assert found["problems"] == []
        return str(next(one["content"] for one in found["examples"] if one["path"] == "h100/decode.yml"))

    once = text(completed(CONTAINER, check="init"))
    spec = yaml.safe_load(once)["spec"]
    (check,) = spec["initContainers"]
    assert (check["image"], check["command"]) == ("registry.example.org/vllm:1", CHECK)
    assert check["resources"] == spec["containers"][0]["resources"]
    assert text(completed(once, check="init")) == once
    before = CONTAINER.replace("  containers:", "  initContainers:\n    - {name: fetch, image: b}\n  containers:")
    names = [one["name"] for one in yaml.safe_load(text(completed(before, check="init")))["spec"]["initContainers"]]
    assert names == ["fetch", "rdma-check"]
    assert "initContainers" not in text(completed(CONTAINER, check="start"))
    (problem,) = completed(CONTAINER.replace("      image: registry.example.org/vllm:1\n", ""), check="init")[
        "problems"
    ]
    assert "Pod decode has no image for the init container: set rdma_workloads_check_image" in problem


def test_a_check_that_there_is_not(facts_of: Facts) -> None:
    found = made(facts_of, "h100", check="always")
    assert found["problems"] == ["rdma_workloads_check is 'always', it must be one of none, start, init"]
    assert found["examples"] == []
