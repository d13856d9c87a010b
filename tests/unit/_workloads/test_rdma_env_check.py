# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""rdma-env.sh --check, in init containers and as a hook of DRANET, and the netdevs and MTU that a pod expects."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import List

import pytest

from ansible_collections.zerocopy.rdma.tests.unit._workloads.pod_shells import MakePod, make_pod, make_shell
from ansible_collections.zerocopy.rdma.tests.unit._workloads.pod_tree import SCRIPT, PodTree

# Fixtures that are defined elsewhere.
__all__ = ["make_pod", "make_shell"]

NODE = "case-h100-roce"
HOOK = {"ZEROCOPY_RDMA_NETNS": "/run/netns/cni-1"}


def netdev_of(pod: PodTree, hca: str) -> str:
    return (pod.port(hca) / "gid_attrs/ndevs/0").read_text().strip()


def mtu(pod: PodTree, hca: str, value: int) -> str:
    netdev = netdev_of(pod, hca)
    (pod.root / "sys/class/net" / netdev / "mtu").write_text(f"{value}\n")
    return netdev


def test_a_check_runs_nothing_and_sets_nothing(pod: MakePod) -> None:
    roce = pod(NODE)
    roce.keep("mlx5_0", "mlx5_1")
    found = roce.run("--check", ZEROCOPY_RDMA_DEVICES="2")
    assert (found.status, found.variables) == (0, {})
    lines = found.said.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("rdma-env: mlx5_0 port 1: Ethernet, GID index ")
    assert lines[2] == "rdma-env: RDMA devices that can be used: 2"
    found = roce.run("--check", ZEROCOPY_RDMA_DEVICES="3")
    assert (found.status, "2 of 3 RDMA devices can be used" in found.said) == (85, True)


def test_it_stands_alone(pod: MakePod) -> None:
    found = pod(NODE).run("--check", "env")
    assert (found.status, found.said) == (80, "rdma-env: --check stands alone: rdma-env.sh --check\n")


def test_it_has_the_modes_of_the_script(pod: MakePod) -> None:
    bare = pod(NODE)
    bare.keep()
    assert bare.run("--check").status == 81
    found = bare.run("--check", ZEROCOPY_RDMA="optional")
    assert (found.status, "no RDMA: the pod has no RDMA device" in found.said) == (0, True)
    assert (bare.run("--check", ZEROCOPY_RDMA="off").status, bare.run("--check", ZEROCOPY_RDMA="off").said) == (0, "")


def test_it_finds_what_the_container_would_not_start_with(pod: MakePod) -> None:
    roce = pod(NODE)
    roce.limits(soft="65536")
    assert roce.run("--check").status == 87
    roce.limits()
    assert roce.run("--check", NCCL_IB_DISABLE="1").status == 88
    shutil.rmtree(roce.root / "usr/lib/x86_64-linux-gnu")
    assert roce.run("--check").status == 86
    # Of an image that is not that of the application.
    assert roce.run("--check", ZEROCOPY_RDMA_LIBRARIES="none").status == 0


@pytest.mark.parametrize("arguments", [("--check",), ("env",)])
def test_the_mtu_of_netdevs(pod: MakePod, arguments: List[str]) -> None:
    roce = pod(NODE)
    roce.keep("mlx5_0", "mlx5_1")
    mtu(roce, "mlx5_0", 9000)
    small = mtu(roce, "mlx5_1", 1500)
    assert roce.run(*arguments).status == 0
    assert roce.run(*arguments, ZEROCOPY_RDMA_MTU="1500").status == 0
    found = roce.run(*arguments, ZEROCOPY_RDMA_MTU="1501")
    assert (found.status, found.variables) == (90, {})
    assert f"not started: the MTU of {small} of mlx5_1:1 (1500) is below 1501: set it on the node" in found.said
    assert "TCP" not in found.said
    # RDMA is not given up for it.
    found = roce.run("env", ZEROCOPY_RDMA_MTU="9000", ZEROCOPY_RDMA="optional")
    assert (found.status, found.variables["UCX_NET_DEVICES"]) == (0, "mlx5_0:1,mlx5_1:1")
    assert f"the MTU of {small} of mlx5_1:1 (1500) is below 9000" in found.said


def test_a_netdev_that_was_not_moved(pod: MakePod) -> None:
    roce = pod(NODE)
    roce.keep("mlx5_0", "mlx5_1")
    here, away = netdev_of(roce, "mlx5_0"), netdev_of(roce, "mlx5_1")
    roce.netdevs(here)
    assert roce.run("--check").status == 0
    found = roce.run("--check", ZEROCOPY_RDMA_MTU="1280")
    assert found.status == 89
    assert f"not started: the pod does not have the netdevs of mlx5_1:1 ({away}): the driver or plugin" in found.said


@pytest.mark.parametrize("name", ["../../etc", "", ".", "eth0 eth1"])
def test_names_of_netdevs_that_are_none(pod: MakePod, name: str) -> None:
    roce = pod(NODE)
    roce.keep("mlx5_0")
    for path in (roce.port("mlx5_0") / "gid_attrs/ndevs").iterdir():
        path.write_text(f"{name}\n")
    assert roce.run("--check", ZEROCOPY_RDMA_MTU="1280").status == 89


def test_infiniband_has_no_mtu_of_a_netdev(pod: MakePod) -> None:
    infiniband = pod("h100-01")
    found = infiniband.run("--check", ZEROCOPY_RDMA_MTU="9000")
    assert (found.status, "the MTU of InfiniBand ports is not checked" in found.said) == (0, True), found.said


@pytest.mark.parametrize("value", ["9000 ", "-1", "jumbo", "09000"])
def test_an_mtu_that_is_none(pod: MakePod, value: str) -> None:
    found = pod(NODE).run("--check", ZEROCOPY_RDMA_MTU=value)
    assert (found.status, f"ZEROCOPY_RDMA_MTU={value} is not a number of bytes" in found.said) == (80, True)


def test_on_the_node_the_network_namespace_counts(pod: MakePod) -> None:
    """No device node, image or limit of a container is seen there. In a namespace, netdevs of others do not exist."""
    node = pod(NODE)
    shutil.rmtree(node.root / "dev/infiniband")
    shutil.rmtree(node.root / "usr")
    node.limits(soft="65536")
    for path in (node.root / "sys/class/infiniband").iterdir():
        if path.name not in ("mlx5_0", "mlx5_3"):
            shutil.rmtree(path / "device/net")
    parameter = node.write("sys/module/ib_core/parameters/netns_mode", "Y\n")
    found = node.run("--check", ZEROCOPY_RDMA_DEVICES="2", **HOOK)
    assert (found.status, found.said.splitlines()[-1]) == (0, "rdma-env: RDMA devices that can be used: 2"), found.said
    assert node.run("--check", ZEROCOPY_RDMA_DEVICES="3", **HOOK).status == 85
    mtu(node, "mlx5_3", 1500)
    assert node.run("--check", ZEROCOPY_RDMA_MTU="9000", **HOOK).status == 90
    # In this mode there are only devices of the namespace.
    parameter.write_text("N\n")
    every = len(list((node.root / "sys/class/infiniband").iterdir()))
    found = node.run("--check", ZEROCOPY_RDMA_DEVICES=str(every), **HOOK)
    assert (found.status, f"RDMA devices that can be used: {every}" in found.said) == (0, True), found.said
    shutil.rmtree(node.root / "sys/class/infiniband")
    found = node.run("--check", **HOOK)
    assert (found.status, "no RDMA device in the network namespace /run/netns/cni-1" in found.said) == (81, True)


def test_as_a_hook_it_goes_into_the_network_namespace_of_the_pod(shell: List[str]) -> None:
    """A new namespace has no RDMA device with a netdev: the script looked there, and not on this machine."""
    own = ["unshare", "--user", "--map-root-user", "--net", "--mount"]
    if subprocess.run([*own, "mount", "-t", "sysfs", "sysfs", "/sys"], capture_output=True, check=False).returncode:
        pytest.skip("this machine does not let users make network namespaces")
    # Without a PATH, as DRANET sets the environment.
    environment = {"DRANET_NETNS": "/proc/self/ns/net", "ZEROCOPY_RDMA_WAIT": "0"}
    argv = [*own, *shell, str(SCRIPT), "--check"]
    found = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert (found.returncode, found.stdout) == (81, "")
    assert "there is no RDMA device in the network namespace /proc/self/ns/net" in found.stderr


def test_a_node_without_nsenter(shell: List[str], tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    argv = [str(shutil.which(shell[0])), *shell[1:], str(SCRIPT), "--check"]
    environment = {"PATH": str(programs), "DRANET_NETNS": "/run/netns/x"}
    found = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert (found.returncode, found.stderr) == (80, "rdma-env: as a hook of DRANET it needs nsenter on the node\n")
