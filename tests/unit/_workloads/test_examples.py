# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Examples of workloads for groups of all strategies, made from facts."""

from __future__ import annotations

import functools
from typing import Any, Callable

import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import PodRequest
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.names import is_label
from ansible_collections.zerocopy.rdma.plugins.module_utils._workloads import examples, pod
from ansible_collections.zerocopy.rdma.plugins.module_utils._workloads.pod import Settings
from ansible_collections.zerocopy.rdma.tests.unit._workloads.workload_examples import (
    GROUPS,
    IMAGES,
    SCRIPT,
    Facts,
    made,
)


@pytest.fixture(name="made")
def make_examples(facts_of: Facts) -> Callable[..., dict[str, Any]]:
    return functools.partial(made, facts_of)


def files(found: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The objects of each file, as they are read from its text."""
    assert found["problems"] == []
    return {entry["path"]: list(yaml.safe_load_all(entry["content"])) for entry in found["examples"]}


def specs(tree: Any) -> list[dict[str, Any]]:
    """Each pod spec whose first container runs the script."""
    found = []
    if isinstance(tree, dict):
        for container in tree.get("containers", []):
            if any("rdma-env.sh" in part for part in container.get("command", [])[:2]):
                found.append(tree)
        tree = list(tree.values())
    if isinstance(tree, list):
        for value in tree:
            found += specs(value)
    return found


def environment(spec: dict[str, Any]) -> dict[str, str]:
    return {entry["name"]: entry.get("value", "") for entry in spec["containers"][0]["env"]}


def test_files_of_a_group(made: Callable[..., dict[str, Any]]) -> None:
    found = made("h100")
    names = [
        "disaggregated-set",
        "kserve",
        "leader-worker-set",
        "nccl-test",
        "ray",
        "rdma-env",
        "sglang",
        "vllm-per-rank",
        "vllm",
        "volcano",
    ]
    assert sorted(files(found)) == [f"h100/{name}.yml" for name in names]
    for entry in found["examples"]:
        assert list(yaml.safe_load_all(entry["content"])) == entry["objects"]
        assert entry["content"].startswith("# ")
        assert "&id" not in entry["content"]


def test_the_script_is_shipped_as_it_is(made: Callable[..., dict[str, Any]]) -> None:
    found = made("h100")
    (shipped,) = files(found)["h100/rdma-env.yml"]
    assert shipped["data"] == {"rdma-env.sh": SCRIPT}
    (text,) = [entry["content"] for entry in found["examples"] if entry["path"] == "h100/rdma-env.yml"]
    # People read it, so it is no text with escapes.
    assert "  rdma-env.sh: |" in text


def test_claims_with_gpus(made: Callable[..., dict[str, Any]]) -> None:
    documents = files(made("h100"))["h100/vllm.yml"]
    assert [item["kind"] for item in documents] == ["Deployment", "Service"] * 2
    for spec in specs(documents):
        (claim,) = spec["resourceClaims"]
        assert claim["resourceClaimTemplateName"].startswith("four")
        (container,) = spec["containers"]
        assert container["resources"] == {"claims": [{"name": "rdma"}]}
        assert container["securityContext"] == {"capabilities": {"add": ["IPC_LOCK"]}}
        assert "--tensor-parallel-size=4" in container["command"]
        assert environment(spec)["ZEROCOPY_RDMA_DEVICES"] == "4"
        assert "tcp" not in environment(spec)["UCX_TLS"].split(",")
        assert not {"NCCL_IB_GID_INDEX", "UCX_IB_GID_INDEX"} & set(environment(spec))


def test_a_claim_for_each_rank(made: Callable[..., dict[str, Any]]) -> None:
    found = specs(files(made("h100"))["h100/vllm-per-rank.yml"])
    assert len(found) == 2
    for spec in found:
        assert [claim["name"] for claim in spec["resourceClaims"]] == [f"rdma-{rank}" for rank in range(4)]
        assert all(claim["resourceClaimTemplateName"].startswith("one") for claim in spec["resourceClaims"])
        (container,) = spec["containers"]
        assert container["resources"]["claims"] == [{"name": f"rdma-{rank}"} for rank in range(4)]
        assert "--tensor-parallel-size=4" in container["command"]


FOUR = {"rdma_links_rail_subnets": [f"10.30.{rail}.0/24" for rail in range(4)]}


@pytest.mark.parametrize(
    ("values", "word", "ucx"),
    [
        (FOUR, None, "all"),
        ({**FOUR, "rdma_links_rail_reachability": "all"}, "all", None),
        ({**FOUR, "rdma_links_rail_reachability": [[0, 1, 2, 3]]}, "all", None),
        ({**FOUR, "rdma_links_rail_reachability": [[0, 1], [2, 3]]}, "some", None),
        ({**FOUR, "rdma_links_rail_reachability": "none"}, "subnet", None),
        # The network of an address does not tell its rail.
        ({"rdma_links_subnet": "10.30.0.0/16", "rdma_links_rail_reachability": "none"}, "some", None),
        ({"rdma_links_rail_reachability": "none"}, "some", None),
        # Nobody has said how many rails there are.
        ({"rdma_links_rail_reachability": [[0, 1]]}, "some", None),
    ],
)
def test_rails_that_reach_each_other(
    made: Callable[..., dict[str, Any]], values: dict[str, Any], word: str | None, ucx: str | None
) -> None:
    found = made("h100", own=dict.fromkeys(GROUPS["h100"][0], values))
    every = {path: [*map(environment, specs(objects))] for path, objects in files(found).items()}
    assert {each.get("ZEROCOPY_RDMA_RAILS") for own in every.values() for each in own} == {word}
    assert {each.get("UCX_IB_ROCE_REACHABILITY_MODE") for each in every["h100/vllm-per-rank.yml"]} == {ucx}
    (text,) = [one["content"] for one in found["examples"] if one["path"] == "h100/vllm-per-rank.yml"]
    assert ("Not all rails reach each other" in text) == (word in ("some", "subnet"))


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("some", "some"), "h100-01: rdma_links_rail_reachability is 'some', it must be all, none, or lists"),
        (("none", "all"), "h100-[01-02]: rdma_links_rail_reachability is 'none' on h100-01; 'all' on h100-02: {right}"),
        (
            ("none", None),
            "h100-[01-02]: rdma_links_rail_reachability is 'none' on h100-01; not set on h100-02: {right}",
        ),
    ],
)
def test_rails_that_cannot_be(made: Callable[..., dict[str, Any]], words: tuple[Any, Any], problem: str) -> None:
    own = {host: {"rdma_links_rail_reachability": word} for host, word in zip(GROUPS["h100"][0], words)}
    found = made("h100", own=own)
    assert found["examples"] == []
    assert found["problems"][0].startswith(problem.format(right="it must be the same on all hosts of group h100"))


def test_rails_of_which_another_variable_says_which_reach_each_other(made: Callable[..., dict[str, Any]]) -> None:
    first, second = GROUPS["h100"][0]
    none = {"rdma_links_rail_reachability": "none"}
    (problem,) = made("h100", own={first: {**FOUR, **none}, second: none})["problems"]
    assert problem.startswith("h100-[01-02]: rdma_links_rail_subnets is [")
    assert problem.endswith("not set on h100-02: it must be the same on all hosts of group h100")


def test_claims_of_two_nodes(made: Callable[..., dict[str, Any]]) -> None:
    prefill, decode = specs(files(made("lab"))["lab/vllm.yml"])
    for spec, name in ((prefill, "rdma-prefill"), (decode, "rdma-decode")):
        (claim,) = spec["resourceClaims"]
        assert claim["resourceClaimName"].startswith(name)
        resources = spec["containers"][0]["resources"]
        assert resources == {"limits": {"nvidia.com/gpu": "1"}, "claims": [{"name": "rdma"}]}


def test_limits(made: Callable[..., dict[str, Any]]) -> None:
    documents = files(made("v100", gpus=2, gpu_resource="amd.com/gpu", namespace="serving"))
    assert "v100/vllm-per-rank.yml" not in documents
    for spec in specs(list(documents.values())):
        assert "resourceClaims" not in spec
        assert spec["containers"][0]["resources"]["limits"] == {"rdma/rdma_v100": "1", "amd.com/gpu": "2"}
    assert {item["metadata"]["namespace"] for items in documents.values() for item in items} == {"serving"}


def test_annotations_and_their_namespace(made: Callable[..., dict[str, Any]]) -> None:
    documents = files(made("roce_h100"))
    template = documents["roce-h100/vllm.yml"][0]["spec"]["template"]
    (network,) = template["metadata"]["annotations"].values()
    assert network.startswith("serving/")
    assert {item["metadata"]["namespace"] for items in documents.values() for item in items} == {"serving"}
    (service,) = documents["roce-h100/kserve.yml"]
    assert service["metadata"]["annotations"] == template["metadata"]["annotations"]


def test_every_pod_with_nics_runs_the_script(made: Callable[..., dict[str, Any]]) -> None:
    documents = files(made(*GROUPS))
    for path, items in documents.items():
        for spec in specs(items):
            assert {"name": "zerocopy-rdma-env", "configMap": {"name": "zerocopy-rdma-env"}} in spec["volumes"], path
            mounts = {mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]}
            assert mounts == {"/dev/shm", "/opt/zerocopy-rdma"}
    # Of MPI, each rank runs it, not the pod.
    assert {path for path, items in documents.items() if not specs(items)} == {
        f"{group.replace('_', '-')}/{name}.yml" for group in GROUPS for name in ("rdma-env", "nccl-test")
    }
    (job,) = documents["h100/nccl-test.yml"]
    command = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"]
    at = command.index("/bin/sh")
    assert command[at : at + 3] == ["/bin/sh", "/opt/zerocopy-rdma/rdma-env.sh", "all_reduce_perf"]
    assert "ZEROCOPY_RDMA_DEVICES=4" in command


def test_a_request_by_its_name(made: Callable[..., dict[str, Any]]) -> None:
    for spec in specs(files(made("h100", requests={"h100": "one"}))["h100/vllm.yml"]):
        assert spec["resourceClaims"][0]["resourceClaimTemplateName"].startswith("one")
    found = made("h100", requests={"h100": "two"})
    assert found["examples"] == []
    (problem,) = found["problems"]
    assert problem.startswith("h100: rdma_workloads_requests names 'two', it must be one of one")


def test_variables_of_the_site_take_precedence(made: Callable[..., dict[str, Any]]) -> None:
    found = made("h100", environment={"UCX_TLS": "rc,ud,self,rocm_copy", "NCCL_DEBUG": "WARN"})
    (spec, _decode) = specs(files(found)["h100/vllm.yml"])
    assert environment(spec)["UCX_TLS"] == "rc,ud,self,rocm_copy"
    names = [entry["name"] for entry in spec["containers"][0]["env"]]
    assert len(names) == len(set(names))


def test_without_gpus_there_is_one_process(made: Callable[..., dict[str, Any]]) -> None:
    for spec in specs(files(made("lab", gpus=0))["lab/vllm.yml"]):
        (container,) = spec["containers"]
        assert "limits" not in container["resources"]
        assert "--tensor-parallel-size=1" in container["command"]


def test_without_an_image_there_is_no_nccl_test(made: Callable[..., dict[str, Any]]) -> None:
    assert "h100/nccl-test.yml" not in files(made("h100", images={**IMAGES, "nccl_tests": ""}))


def test_sglang_has_both_sides(made: Callable[..., dict[str, Any]]) -> None:
    documents = files(made("lab"))["lab/sglang.yml"]
    assert [item["kind"] for item in documents] == ["Deployment", "Service"] * 2
    for role, spec in zip(("prefill", "decode"), specs(documents)):
        assert f"--disaggregation-mode={role}" in spec["containers"][0]["command"]
        assert spec["resourceClaims"][0]["resourceClaimName"].startswith(f"rdma-{role}")


def test_what_is_added_to_a_pod(made: Callable[..., dict[str, Any]]) -> None:
    adds = made("h100", "v100")["adds"]
    assert list(adds["v100"]) == ["rdma/rdma_v100"]
    assert set(adds["v100"]["rdma/rdma_v100"]) == {"annotations", "pod", "container"}
    assert all(request["pod"]["resourceClaims"] for request in adds["h100"].values())


def test_a_pod_that_gets_the_nics_beside_its_gpus_has_one(made: Callable[..., dict[str, Any]]) -> None:
    for spec in specs(files(made("a100", gpus=0, gpu_resource="example.org/gpu"))["a100/vllm.yml"]):
        (container,) = spec["containers"]
        assert container["resources"]["limits"] == {"rdma.io/hca": "1", "nvidia.com/gpu": "1"}
        assert "securityContext" not in container
        assert "--tensor-parallel-size=1" in container["command"]


def test_volcano_schedules_what_it_can(made: Callable[..., dict[str, Any]]) -> None:
    found = made("h100", "lab", "v100")
    jobs = {path.split("/")[0]: items[0]["spec"] for path, items in files(found).items() if "volcano" in path}
    schedulers = {group: job["schedulerName"] for group, job in jobs.items()}
    assert schedulers == {"h100": "default-scheduler", "lab": "volcano", "v100": "volcano"}
    texts = {entry["path"]: entry["content"] for entry in found["examples"]}
    assert {group: "volcano#5119" in texts[f"{group}/volcano.yml"] for group in jobs} == {
        "h100": True,
        "lab": False,
        "v100": False,
    }
    master, worker = (task["template"]["spec"] for task in jobs["lab"]["tasks"])
    assert master["resourceClaims"][0]["resourceClaimName"].startswith("rdma-prefill")
    assert worker["resourceClaims"][0]["resourceClaimName"].startswith("rdma-decode")
    assert [task["replicas"] for task in jobs["lab"]["tasks"]] == [1, 1]


AMD = {"vllm": "rocm/vllm:1", "sglang": "rocm/sglang:1", "ray": "rocm/ray:1", "nccl_tests": ""}


def test_a_group_with_gpus_of_amd(made: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GROUPS, "mi300x", (["case-mi300x"], {"rdma_strategy": "shared_device"}))
    both = made("mi300x", "v100", amd_images=AMD)
    found = files(both)
    assert "mi300x/nccl-test.yml" not in found
    assert "v100/nccl-test.yml" in found
    (added,) = both["adds"]["mi300x"].values()
    assert added["container"]["resources"]["limits"]["amd.com/gpu"] == "1"
    for path, documents in found.items():
        text = yaml.safe_dump(documents)
        if path.startswith("mi300x") and "rdma-env" not in path:
            assert "nvidia" not in text
            assert "cuda" not in text
            assert "registry.example.org" not in text
        elif "rdma-env" not in path:
            assert "amd.com" not in text
            assert "rocm" not in text
    assert environment(specs(found["mi300x/vllm.yml"])[0])["UCX_TLS"] == "rc,ud,sm,self,rocm_copy,rocm_ipc"


@pytest.mark.parametrize(
    ("kind", "nics", "settings", "gpus"),
    [
        ("case-mi300x", 8, {}, 8),
        ("case-mi300x", 1, {}, 1),
        ("case-mi300x", 8, {"gpus": 2}, 2),
        # As a variable that is not set comes out of a template.
        ("case-mi300x", 8, {"gpus": ""}, 8),
        ("case-mi300x", 8, {"gpus": None}, 8),
        ("h100-03", 4, {}, 4),
    ],
)
def test_gpus_and_nics_of_an_example_fit_together(
    made: Callable[..., dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    nics: int,
    settings: dict[str, Any],
    gpus: int,
) -> None:
    own = {"rdma_claims_templates": [{"name": "nics", "nics": nics}]}
    monkeypatch.setitem(GROUPS, "g", ([kind], own))
    found = made("g", amd_images=AMD, **settings)
    resource = "amd.com/gpu" if kind == "case-mi300x" else "nvidia.com/gpu"
    for spec in specs(files(found)["g/vllm.yml"]):
        (container,) = spec["containers"]
        assert container["resources"]["limits"] == {resource: str(gpus)}
        assert f"--tensor-parallel-size={gpus}" in container["command"]
        assert environment(spec).get("ZEROCOPY_RDMA_DEVICES") == (str(nics) if nics > 1 else None)


def test_no_example_has_more_gpus_than_a_node() -> None:
    ask = pod.GroupAsk(PodRequest("nics", {}), "nics-0a1b2c3d4e", nics=8)
    assert pod.gpus_of(ask, Settings({}, "model", of_node=4)) == 4


MODELS = ["x; touch /tmp/owned #", "it's $(id) `id`", "$HOME/a b", "org/$(POD)"]


@pytest.mark.parametrize("model", MODELS)
def test_no_shell_reads_the_model(made: Callable[..., dict[str, Any]], model: str) -> None:
    """Kubernetes hands every command to the container as a list, and replaces no variable in the model."""
    found = files(made("h100", "lab", "v100", model=model))
    served = 0
    for documents in found.values():
        for spec in specs(documents):
            command = spec["containers"][0]["command"][2:]
            named = [part for part in command if model.replace("$(", "$$(") in part]
            assert command[0] not in ("/bin/bash", "/bin/sh", "sh", "bash") or not named
            served += len(named)
            assert all(
                part.removeprefix("--model-path=").removeprefix("--served-model-name=") == model.replace("$(", "$$(")
                for part in named
            )
    assert served >= 20


def test_a_model_on_two_pods_needs_no_ray(made: Callable[..., dict[str, Any]]) -> None:
    found = files(made("h100", "lab"))
    texts = {path: yaml.safe_dump(items) for path, items in found.items() if "leader" in path or "volcano" in path}
    assert len(texts) == 4
    assert not [path for path, text in texts.items() if "ray" in text.lower()]
    leader, worker = specs(found["h100/leader-worker-set.yml"])
    assert leader["containers"][0]["command"][2:] == [
        "vllm",
        "serve",
        "Qwen/Qwen3-8B",
        "--port=8000",
        "--tensor-parallel-size=4",
        "--pipeline-parallel-size=2",
        "--distributed-executor-backend=mp",
        "--nnodes=2",
        "--node-rank=0",
        "--master-addr=$(LWS_LEADER_ADDRESS)",
        "--master-port=23456",
    ]
    assert worker["containers"][0]["command"][-1] == "--headless"
    assert "--node-rank=$(LWS_WORKER_INDEX)" in worker["containers"][0]["command"]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["h100", "h200"], []),
        (
            ["h100_a", "h100-a"],
            ["h100-a: rdma_group is 'h100-a', whose files or objects would be named like those of h100_a: rename one"],
        ),
        (["../../etc"], ["../../etc: rdma_group is '../../etc', which cannot be part of a DaemonSet's name"]),
        (["H100 SXM"], ["H100 SXM: rdma_group is 'H100 SXM', which cannot be part of a DaemonSet's name"]),
        (["8gpu", "8" * 42], []),
        (
            ["8gpu", "g-8gpu"],
            ["g-8gpu: rdma_group is 'g-8gpu', whose files or objects would be named like those of 8gpu"],
        ),
        (["a" * 42], []),
        (["a" * 43], [f"{'a' * 43}: rdma_group is '{'a' * 43}', which cannot be part"]),
    ],
)
def test_names_of_groups_are_names_of_files_and_objects(names: list[str], said: list[str]) -> None:
    """Whatever the strategy of each of them thinks of its name."""
    spec = {"devices": {"requests": [{"name": kind, "exactly": {"count": 1}} for kind in ("gpu", "nic")]}}
    request = PodRequest("pair", {}, template="pair", entry="pair")
    claims = {("template", "pair"): ("pair-1", ["llm"], spec)}
    asks = {name: [request] for name in names}
    found = examples.workloads(asks, claims, Settings(IMAGES, "model", "llm"), SCRIPT, {})
    assert [one.startswith(start) for one, start in zip(found.problems, said)] == [True] * len(said)
    assert len(found.problems) == len(said)
    paths = [one.path for one in found.examples]
    assert len(set(paths)) == len(paths)
    every = [item["metadata"]["name"] for one in found.examples for item in one.objects]
    assert all(is_label(name) for name in every)
    # Without RelaxedServiceNameValidation (1.34), Kubernetes refuses Services whose names begin with a digit.
    assert all(name[0].isalpha() for name in every)
    # What the webhooks of LWS 0.9 take, with room for the names and labels of what its controllers make.
    longest = {"LeaderWorkerSet": 50, "DisaggregatedSet": 31}
    made_of = [(item["kind"], item["metadata"]["name"]) for one in found.examples for item in one.objects]
    assert [name for kind, name in made_of if len(name) > longest.get(kind, 63)] == []
