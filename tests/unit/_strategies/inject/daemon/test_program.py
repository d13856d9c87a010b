# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What containers get on recorded nodes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Callable, Dict

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.gather import GatherOptions
from ansible_collections.zerocopy.rdma.plugins.module_utils._payload import program
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject import daemon_options
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon import adjust, gpus
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.adjust import (
    Given,
    NothingFoundError,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.configuration import Configuration
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.hardware import Hardware, Watched
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.messages import Container, Pod

OURS = "rdma.zerocopy.io/nics"
POD = Pod("p", "llm", {OURS: "nearest"}, host_network=True)
CONFIG = Configuration()


def given(
    hardware: Hardware, visible: str = "", pod: Pod = POD, config: Configuration = CONFIG, **container: Any
) -> Given:
    asking = Container("main", {"NVIDIA_VISIBLE_DEVICES": visible, **container})
    wish = adjust.asked(pod, asking, config)
    assert wish
    return adjust.given(wish, pod, asking, config, hardware)


@pytest.fixture
def hardware(root_of: Callable[[str], Path]) -> Callable[..., Hardware]:
    def read(name: str, exclude: Any = (), layer: str | None = None, **options: Any) -> Hardware:
        return Watched(str(root_of(name)), GatherOptions(**options), exclude, layer).now()

    return read


def paths(found: Given) -> list[str]:
    return [node.path.rpartition("/")[2] for node in found.adjustment.devices]


def test_a_container_gets_the_nics_beside_its_gpus_and_no_others(hardware: Callable[..., Hardware]) -> None:
    node = hardware("h100-01")
    assert paths(given(node, "0")) == ["uverbs0", "rdma_cm"]
    assert paths(given(node, "0,3")) == ["uverbs0", "uverbs3", "rdma_cm"]
    assert len(paths(given(node, "all"))) == 9
    found = given(node, "3", config=replace(CONFIG, umad=True))
    assert paths(found)[:2] == ["uverbs3", "umad3"]
    assert found.hcas == ["mlx5_3"]
    assert found.adjustment.memlock == -1
    assert {node.major for node in found.adjustment.devices} == {231, 10}


def test_a_container_gets_no_nic_of_a_storage_network(hardware: Callable[..., Hardware]) -> None:
    def for_containers(layer: str | None) -> set[str]:
        return {name for name, hca in hardware("case-b200", layer=layer).hcas.items() if hca.ports}

    of_gpus = {f"mlx5_{number}" for number in (4, 7, 8, 9, 10, 13, 14, 15)}
    assert for_containers("InfiniBand") == of_gpus
    assert for_containers(None) - for_containers("Ethernet") == of_gpus


def test_minors_are_those_that_the_driver_says(root_of: Callable[[str], Path]) -> None:
    root = root_of("h100-01")
    first, second = sorted((root / "proc/driver/nvidia/gpus").glob("*/information"))[:2]
    text, other = first.read_text(), second.read_text()
    first.write_text(other)
    second.write_text(text)
    gpus = Watched(str(root), GatherOptions(), ()).now().gpus
    assert [(gpu.index, gpu.minor) for gpu in gpus][:3] == [(0, 1), (1, 0), (2, 2)]


def test_its_environment_is_that_of_its_nics_where_it_has_none(hardware: Callable[..., Hardware]) -> None:
    infiniband = given(hardware("h100-01"), "0,3").adjustment.environment
    assert infiniband["NCCL_IB_HCA"] == "=mlx5_0:1,mlx5_3:1"
    assert infiniband["UCX_NET_DEVICES"] == "mlx5_0:1,mlx5_3:1"
    # vLLM refuses to start with it where VLLM_NIC_SELECTION_VARS is missing.
    assert "VLLM_GPU_NIC_PCIE_MAPPING" not in infiniband
    assert "NCCL_IB_GID_INDEX" not in infiniband
    roce = given(hardware("case-h100-roce"), "0").adjustment.environment
    assert roce["NCCL_IB_GID_INDEX"] == roce["UCX_IB_GID_INDEX"] != ""
    # A value stays. As in rdma-env.sh, a variable that is empty has none.
    own = given(hardware("case-h100-roce"), "0", NCCL_IB_HCA="", NCCL_IB_GID_INDEX="5").adjustment.environment
    assert own["NCCL_IB_HCA"] == "=mlx5_0:1"
    assert "NCCL_IB_GID_INDEX" not in own
    assert given(hardware("h100-01"), "0", config=replace(CONFIG, environment=False)).adjustment.environment == {}


def test_roce_needs_the_hosts_network_and_infiniband_does_not(hardware: Callable[..., Hardware]) -> None:
    alone = replace(POD, host_network=False)
    with pytest.raises(NothingFoundError, match="the pod needs hostNetwork: true"):
        given(hardware("case-h100-roce"), "0", alone)
    assert paths(given(hardware("h100-01"), "0", alone))


def named(value: str) -> Pod:
    return replace(POD, annotations={OURS: value})


def test_nics_by_name_and_by_device(hardware: Callable[..., Hardware]) -> None:
    node = hardware("h100-01")
    assert paths(given(node, pod=named("mlx5_2"))) == ["uverbs2", "rdma_cm"]
    by_path = replace(POD, annotations={"devices.noderesource.dev/pod": "- path: /dev/infiniband/uverbs5"})
    assert paths(given(node, pod=by_path)) == ["uverbs5"]
    for value in ("mlx5_77", "mlx5_0,mlx5_77"):
        with pytest.raises(NothingFoundError, match="mlx5_77: not on this node"):
            given(node, pod=named(value))
    lost = replace(POD, annotations={"devices.noderesource.dev/pod": "- path: /dev/infiniband/uverbs99"})
    with pytest.raises(NothingFoundError, match="uverbs99"):
        given(node, pod=lost)


@pytest.mark.parametrize(
    ("visible", "said"),
    [
        ("", "has no GPU"),
        ("GPU-ffffffff", "cannot be identified"),
        ("MIG-0d3c5a1e-1111-2222-3333-444455556666", "cannot be identified"),
        ("99", "cannot be identified"),
    ],
)
def test_without_a_gpu_that_is_known_nothing_is_guessed(
    hardware: Callable[..., Hardware], visible: str, said: str
) -> None:
    with pytest.raises(NothingFoundError, match=said):
        given(hardware("h100-01"), visible)


def test_excluded_nics_are_never_given(hardware: Callable[..., Hardware]) -> None:
    node = hardware("h100-01", exclude=["mlx5_0"])
    with pytest.raises(NothingFoundError, match="no HCA near the GPUs of the container"):
        given(node, "0")
    with pytest.raises(NothingFoundError, match="excluded from workloads"):
        given(node, pod=named("mlx5_0"))


def test_a_mig_device_needs_no_gpu_where_all_have_the_same_nic(hardware: Callable[..., Hardware]) -> None:
    mig = "MIG-0d3c5a1e-1111-2222-3333-444455556666"
    node = hardware("a100-01")
    assert len({tuple(gpu.nearest) for gpu in node.gpus}) == 1
    assert given(node, mig).hcas == given(node, "0").hcas


def test_a_sidecar_needs_no_nic() -> None:
    sidecar, main = Container("c", {}), Container("c", {"NVIDIA_VISIBLE_DEVICES": "0"})
    for asking, lacks in (({OURS: "nearest"}, True), ({f"{OURS}.c": "nearest"}, False), ({OURS: "mlx5_0"}, False)):
        wish = adjust.asked(replace(POD, annotations=asking), sidecar, CONFIG)
        assert wish
        assert adjust.beside_nothing(wish, sidecar) == lacks
        assert not adjust.beside_nothing(wish, main)


def test_devices_that_manage_the_fabric_are_the_admins_to_give(hardware: Callable[..., Hardware]) -> None:
    pod = replace(POD, annotations={"devices.nri.io/pod": "- path: /dev/infiniband/umad2"})
    with pytest.raises(NothingFoundError, match="/dev/infiniband/umad2 can manage the fabric"):
        given(hardware("h100-01"), pod=pod)
    assert paths(given(hardware("h100-01"), pod=pod, config=replace(CONFIG, umad=True))) == ["umad2"]


def test_nothing_is_there(hardware: Callable[..., Hardware]) -> None:
    with pytest.raises(NothingFoundError, match="cannot be identified"):
        given(hardware("case-nothing"), "0")


def node_of(directory: Path, name: str = "h100-01") -> Watched:
    import expand

    fleet = Path(__file__).resolve().parents[4] / "fleet/nodes"
    expand.write(expand.load(fleet / f"{name}.yml"), directory)
    return Watched(str(directory), GatherOptions(), ())


def test_a_nic_that_goes_down_is_seen_and_another_taken(tmp_path: Path) -> None:
    watched = node_of(tmp_path)
    assert given(watched.now(), "0").hcas == ["mlx5_0"]
    assert watched.now() is watched.now()
    (tmp_path / "sys/class/infiniband/mlx5_0/ports/1/state").write_text("1: DOWN\n")
    assert given(watched.now(), "0").hcas not in ([], ["mlx5_0"])
    with pytest.raises(NothingFoundError, match="mlx5_0: no port that is up"):
        given(watched.now(), pod=named("mlx5_0"))
    for state in (tmp_path / "sys/class/infiniband").glob("*/ports/1/state"):
        state.write_text("1: DOWN\n")
    with pytest.raises(NothingFoundError, match="no HCA near the GPUs of the container"):
        given(watched.now(), "all")


@pytest.mark.parametrize(
    "path",
    [
        "sys/class/infiniband_verbs/uverbs77/dev",
        "sys/class/infiniband_mad/umad77/dev",
        "sys/class/misc/rdma_cm_77/dev",
        "sys/bus/pci/drivers/nvidia/0000:01:00.0",
        "proc/driver/nvidia/gpus/0000:01:00.0/information",
    ],
)
def test_what_appears_with_a_module_is_seen(tmp_path: Path, path: str) -> None:
    watched = node_of(tmp_path)
    before = watched.now()
    assert watched.now() is before
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text("")
    after = watched.now()
    assert after is not before
    assert watched.now() is after


def test_a_gid_that_moves_is_seen(tmp_path: Path) -> None:
    watched = node_of(tmp_path, "case-h100-roce")
    (before,) = {port.gid_index for hca in watched.now().hcas.values() for port in hca.ports}
    port = next((tmp_path / "sys/class/infiniband").glob("*/ports/1"))
    for folder in ("gids", "gid_attrs/types", "gid_attrs/ndevs"):
        if (port / folder / str(before)).exists():
            (port / folder / "77").write_text((port / folder / str(before)).read_text())
    (port / f"gids/{before}").write_text("0000:0000:0000:0000:0000:0000:0000:0000\n")
    indexes = {hca.name: port.gid_index for hca in watched.now().hcas.values() for port in hca.ports}
    assert indexes.pop(port.parts[-3]) == 77
    assert set(indexes.values()) == {before}


def test_all_is_read_again_when_it_is_time(tmp_path: Path) -> None:
    watched = node_of(tmp_path)
    before = watched.now()
    (tmp_path / "sys/class/infiniband/mlx5_0/device/numa_node").write_text("7\n")
    assert watched.now() is before
    assert watched.renew() is not before


def test_a_container_that_does_not_ask_costs_no_look_at_the_node() -> None:
    assert adjust.asked(replace(POD, annotations={}), Container("c", {"NVIDIA_VISIBLE_DEVICES": "0"}), CONFIG) is None


def test_the_program_is_the_same_for_the_same_sources_and_has_all_it_imports() -> None:
    assert daemon_options.program() == daemon_options.program()
    names: Dict[str, str] = program.sources(daemon_options.START)
    assert "_strategies.inject.daemon.main" in names
    # No Ansible, and nothing of the rooms that come after.
    assert {name.split(".")[0] for name in names} == {"_strategies", "_discover", "_facts", "_values"}


def test_the_connection_manager_alone_is_no_reason_to_lock_memory(hardware: Callable[..., Hardware]) -> None:
    node = hardware("h100-01")
    for path, memlock in (("rdma_cm", 0), ("uverbs5", -1)):
        asking = {"devices.noderesource.dev/pod": f"- path: /dev/infiniband/{path}"}
        found = given(node, pod=replace(POD, annotations=asking))
        assert (paths(found), found.adjustment.memlock) == ([path], memlock)


MANY = {
    "repeated": {"NVIDIA_VISIBLE_DEVICES": "0," * 650000},
    "different": {"NVIDIA_VISIBLE_DEVICES": ",".join(f"x{number}" for number in range(190000))},
    "one": {"NVIDIA_VISIBLE_DEVICES": "-" * 1300000},
    "cdi": {"NVIDIA_VISIBLE_DEVICES": "nvidia.com/gpu=" + "gpu-" * 325000},
}


@pytest.mark.parametrize("name", [*MANY, "mounts"])
def test_nobody_waits_for_what_one_container_asks_for(
    hardware: Callable[..., Hardware], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """What it asks for is looked at as far as a node could have it."""
    looked: list[int] = []

    def counting(look: Callable[..., Any]) -> Callable[..., Any]:
        def counted(text: str, *more: Any) -> Any:
            looked.append(len(text))
            return look(text, *more)

        return counted

    for function in ("_of_cdi", "_places"):
        monkeypatch.setattr(gpus, function, counting(getattr(gpus, function)))
    node = hardware("h100-01")
    mounts = [f"/var/run/nvidia-container-devices/{number}" for number in range(30000 if name == "mounts" else 0)]
    asking = Container("main", MANY.get(name, {}), mounts=mounts)
    wish = adjust.asked(POD, asking, CONFIG)
    assert wish
    assert not adjust.beside_nothing(wish, asking)
    with pytest.raises(NothingFoundError, match="cannot be identified") as refused:
        adjust.given(wish, POD, asking, CONFIG, node)
    assert len(looked) < 4096
    assert sum(looked) + len(str(refused.value)) < 1 << 16
