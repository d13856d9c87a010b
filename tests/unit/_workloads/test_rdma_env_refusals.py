# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""When rdma-env.sh does not start the command, and what it waits for before that."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from pathlib import Path
from typing import Dict, List

import pytest

from ansible_collections.zerocopy.rdma.tests.unit._workloads.pod_shells import MakePod, make_pod, make_shell
from ansible_collections.zerocopy.rdma.tests.unit._workloads.pod_tree import IPC_LOCK, NO_IPC_LOCK, SCRIPT

# Fixtures that are defined elsewhere.
__all__ = ["make_pod", "make_shell"]


def test_soft_roce_needs_its_own_provider(pod: MakePod) -> None:
    soft = pod("case-soft-roce")
    nodes = soft.root / "sys/class/infiniband_verbs"
    soft.keep(
        *(text for text in ((path / "ibdev").read_text().strip() for path in nodes.glob("uverbs*")) if "rxe" in text)
    )
    found = soft.run()
    assert (found.status, "has no provider rxe" in found.said) == (86, True), found.said
    soft.image("rxe")
    assert soft.run().status == 0


def test_the_wheel_of_nixl_has_one_provider(pod: MakePod) -> None:
    roce = pod("case-h100-roce")
    bundle = "usr/local/lib/python3.12/dist-packages/nixl_cu12.libs"
    for name in ("libibverbs-5b3d2a6e.so.1.14.57.0", "libmlx5-1c2d3e4f.so.1.25.57.0"):
        roce.write(f"{bundle}/{name}")
    assert roce.run().status == 0
    for driver in (roce.root / "sys/class/infiniband").glob("*/device/driver"):
        driver.unlink()
        driver.symlink_to(roce.write("sys/bus/pci/drivers/bnxt_en/bind").parent)
    roce.image("bnxt_re")
    found = roce.run()
    assert found.status == 86
    assert f"the libibverbs in /{bundle} has no provider bnxt_re, which mlx5_0 needs" in found.said
    assert roce.run(ZEROCOPY_RDMA_LIBRARIES="system").status == 0
    assert roce.run(ZEROCOPY_RDMA_LIBRARIES="none").status == 0


def test_an_image_without_libibverbs(pod: MakePod) -> None:
    roce = pod("case-h100-roce")
    shutil.rmtree(roce.root / "usr/lib/x86_64-linux-gnu")
    found = roce.run()
    assert found.status == 86
    assert "the image has no libibverbs" in found.said
    # Where a site puts it.
    roce.write("site/libibverbs.so.1")
    roce.write("site/libibverbs/libmlx5-rdmav34.so")
    assert roce.run(LD_LIBRARY_PATH="/nowhere:/site").status == 0


def test_no_device(pod: MakePod) -> None:
    bare = pod("case-h100-roce")
    bare.keep()
    found = bare.run()
    assert (found.status, found.variables) == (81, {})
    assert "not started: the pod has no RDMA device" in found.said
    found = bare.run("echo", "UCX_X=1", ZEROCOPY_RDMA="optional")
    assert (found.status, found.variables) == (0, {"UCX_X": "1"})
    assert "no RDMA: the pod has no RDMA device" in found.said
    assert bare.run(ZEROCOPY_RDMA="off").said == ""


def test_devices_that_cannot_be_used(pod: MakePod) -> None:
    other = pod("case-h100-roce")
    other.keep("mlx5_2")
    # A directory cannot be opened for writing, even by root.
    (node,) = (other.root / "dev/infiniband").glob("uverbs*")
    node.unlink()
    node.mkdir()
    found = other.run()
    assert (found.status, f"may not open {node.name}" in found.said) == (82, True)
    node.rmdir()
    node.touch()
    (other.root / "sys/class/infiniband/mlx5_2").unlink()
    found = other.run()
    assert (found.status, "not in the pod's network namespace" in found.said) == (82, True)


def test_a_pod_without_sys(pod: MakePod) -> None:
    roce = pod("case-h100-roce")
    roce.keep("mlx5_0")
    shutil.rmtree(roce.root / "sys")
    found = roce.run()
    assert (found.status, "the pod has no /sys" in found.said) == (82, True)


@pytest.mark.parametrize("name", ["mlx5_0,eth0", "mlx5 0", "*", "$(id)", "..", ".hidden", "a;b", "'"])
def test_hostile_names(pod: MakePod, name: str) -> None:
    roce = pod("case-h100-roce")
    roce.keep("mlx5_0", "mlx5_1")
    (node,) = (
        path
        for path in (roce.root / "sys/class/infiniband_verbs").glob("uverbs*")
        if (path / "ibdev").read_text() == "mlx5_0\n"
    )
    (node / "ibdev").write_text(f"{name}\n")
    if name != "..":
        (roce.root / "sys/class/infiniband/mlx5_0").rename(roce.root / "sys/class/infiniband" / name)
    found = roce.run()
    assert found.status == 0
    assert found.variables["UCX_NET_DEVICES"] == "mlx5_1:1"


def test_all_ports_down(pod: MakePod) -> None:
    roce = pod("case-h100-roce")
    roce.keep("mlx5_4")
    (roce.port("mlx5_4") / "state").write_text("1: DOWN\n")
    found = roce.run()
    assert (found.status, "no port of mlx5_4 is ACTIVE after 0 s" in found.said) == (83, True)


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        pytest.param("sys/class/infiniband/mlx5_4/ports/1/state", "1: DOWN", "4: ACTIVE", id="link"),
        pytest.param("sys/class/infiniband_verbs/{verbs}/ibdev", "", "mlx5_4", id="device"),
    ],
)
def test_it_waits(pod: MakePod, tmp_path: Path, path: str, before: str, after: str) -> None:
    roce = pod("case-h100-roce")
    roce.keep("mlx5_4")
    (verbs,) = (node.name for node in (roce.root / "dev/infiniband").glob("uverbs*"))
    file = (roce.root / path.format(verbs=verbs)).resolve()
    file.write_text(f"{before}\n")
    sleep = tmp_path / "bin/sleep"
    sleep.parent.mkdir()
    sleep.write_text(f"#!/bin/sh\necho '{after}' > {file}\n")
    sleep.chmod(0o755)
    if "busybox" in roce.shell:
        # Its sleep is built in: what it waits for does not come, and it gives up.
        assert roce.run(ZEROCOPY_RDMA_WAIT="1").status in (82, 83)
        return
    found = roce.run(ZEROCOPY_RDMA_WAIT="2", PATH=f"{sleep.parent}:{os.environ['PATH']}")
    assert (found.status, found.variables["UCX_NET_DEVICES"]) == (0, "mlx5_4:1")


@pytest.mark.parametrize(
    ("limits", "environment", "status"),
    [
        pytest.param({"soft": "8388608"}, {}, 87, id="limited"),
        pytest.param({"soft": "8388608", "capabilities": IPC_LOCK}, {}, 0, id="capability"),
        pytest.param({"soft": "8388608", "capabilities": "0000000000000000"}, {}, 87, id="not root"),
        pytest.param({"soft": "8388608"}, {"ZEROCOPY_RDMA_MEMLOCK": "8388608"}, 0, id="enough"),
        pytest.param({"soft": "8388607"}, {"ZEROCOPY_RDMA_MEMLOCK": "8388608"}, 87, id="not enough"),
        pytest.param({"soft": "unlimited"}, {}, 0, id="unlimited"),
    ],
)
def test_locked_memory(pod: MakePod, limits: Dict[str, str], environment: Dict[str, str], status: int) -> None:
    roce = pod("case-h100-roce")
    roce.limits(**limits)
    found = roce.run(**environment)
    assert found.status == status, found.said
    assert (f"locked memory is limited to {limits['soft']} bytes" in found.said) == (status == 87)


def test_locked_memory_in_a_user_namespace(pod: MakePod) -> None:
    roce = pod("case-h100-roce")
    roce.limits("65536", capabilities=IPC_LOCK)
    roce.write("proc/self/uid_map", "         0     100000      65536\n")
    assert roce.run().status == 87


def test_the_limit_is_raised_where_the_pod_may(pod: MakePod) -> None:
    roce = pod("case-h100-roce")
    roce.limits("65536", "unlimited", NO_IPC_LOCK)
    _soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    allowed = hard == resource.RLIM_INFINITY
    assert roce.run().status == (0 if allowed else 87)


WITHOUT_RDMA = [
    ("NCCL_IB_DISABLE", "1"),
    ("NCCL_NET", "Socket"),
    ("NCCL_NET", "socket"),
    ("UCX_TLS", "tcp"),
    ("UCX_TLS", "tcp,cuda_copy,sm"),
    ("UCX_TLS", "tcp,ud:aux"),
    ("UCX_TLS", "^ib"),
    ("UCX_TLS", "^rc,ud,dc"),
    ("UCX_NET_DEVICES", "eth0"),
    ("UCX_NET_DEVICES", "mlx5_9:1"),
    # UCX knows its devices with their port only.
    ("UCX_NET_DEVICES", "mlx5_0"),
    ("UCX_NET_DEVICES", "^mlx5_*"),
    ("NCCL_IB_HCA", "mlx5_9"),
    ("NCCL_IB_HCA", "=mlx5_"),
    ("NCCL_IB_HCA", "^mlx5"),
    ("NCCL_IB_HCA", "mlx5_0:2"),
    ("NVSHMEM_HCA_LIST", "mlx5_3:1"),
    ("MOONCAKE_DEVICE", "mlx5_7,mlx5_8"),
]
WITH_RDMA = [
    ("NCCL_IB_DISABLE", "0"),
    ("NCCL_IB_DISABLE", "no"),
    ("NCCL_IB_DISABLE", "00"),
    ("NCCL_NET", "IB"),
    ("NCCL_NET", "gIB"),
    ("UCX_TLS", "rc,ud,sm,self,cuda_copy,cuda_ipc"),
    ("UCX_TLS", "tcp,rc_mlx5"),
    ("UCX_TLS", "\\rc_x,self"),
    ("UCX_TLS", "all"),
    ("UCX_TLS", "^tcp"),
    ("UCX_TLS", "^rc"),
    ("UCX_NET_DEVICES", "all"),
    ("UCX_NET_DEVICES", "eth0,mlx5_1:1"),
    ("UCX_NET_DEVICES", "mlx5_?:1"),
    ("UCX_NET_DEVICES", "^mlx5_0:1"),
    ("NCCL_IB_HCA", "mlx5"),
    ("NCCL_IB_HCA", "=mlx5_1"),
    ("NCCL_IB_HCA", "^=mlx5_1:1"),
    ("NCCL_IB_HCA", "mlx5_9,,mlx5_0:1"),
    ("NVSHMEM_HCA_LIST", "mlx5_1:1"),
    ("MOONCAKE_DEVICE", "mlx5_1"),
    ("MOONCAKE_DEVICE", '{"0": "mlx5_7"}'),
]


def test_what_the_pod_has_set_leaves_no_rdma(pod: MakePod) -> None:
    roce = pod("case-h100-roce")
    roce.keep("mlx5_0", "mlx5_1")
    for name, value in WITHOUT_RDMA:
        found = roce.run(**{name: value})
        assert (found.status, f"the pod has {name}={value}, " in found.said) == (88, True), found.said
    found = roce.run(ZEROCOPY_RDMA="optional", NCCL_NET="Socket")
    assert (found.status, "no RDMA: the pod has NCCL_NET=Socket, " in found.said) == (0, True)


def test_what_the_pod_has_set_leaves_rdma(pod: MakePod) -> None:
    roce = pod("case-h100-roce")
    roce.keep("mlx5_0", "mlx5_1")
    for name, value in WITH_RDMA:
        found = roce.run(**{name: value})
        assert found.status == 0, (name, value, found.said)
        assert found.variables.get(name, value) == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ZEROCOPY_RDMA", "maybe"),
        ("ZEROCOPY_RDMA_FAMILY", "ipv4"),
        ("ZEROCOPY_RDMA_WAIT", "1s"),
        ("ZEROCOPY_RDMA_WAIT", "08"),
        ("ZEROCOPY_RDMA_DEVICES", "-1"),
        ("ZEROCOPY_RDMA_LIBRARIES", "wheel"),
        ("ZEROCOPY_RDMA_MAPPING", "1"),
        ("ZEROCOPY_RDMA_MEMLOCK", "64k"),
    ],
)
def test_values_that_are_none(pod: MakePod, name: str, value: str) -> None:
    found = pod("case-nothing").run(**{name: value})
    assert (found.status, f"{name}={value} is not" in found.said) == (80, True)


def test_no_command(shell: List[str]) -> None:
    done = subprocess.run([*shell, str(SCRIPT)], capture_output=True, text=True, check=False)
    assert (done.returncode, "no command" in done.stderr) == (80, True)
