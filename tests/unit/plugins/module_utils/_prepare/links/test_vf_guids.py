# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""VFs of InfiniBand ports: their GUIDs, and the script that makes them, run by a real shell.

The node is synthesised: the files are those that the kernel shows for VFs of Ethernet ports, with the RDMA devices of
InfiniBand ones. ``ip`` is a stub, so what mlx5 does with the GUIDs is not shown here.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import keyfile, live, vf_guids
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import command
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.changes import Change
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Completed
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import guid
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import RefusedError
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.links.nm_node import NodeTree
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.links.nm_sriov import (
    applied,
    node,
    plan,
    text_of,
)

PF = "0000:91:00.0"
NODE_GUID = "b859:9f03:00c6:e46b"
VFS = ["0000:91:00.1", "0000:91:00.2"]
GUIDS = ["ba:59:9f:00:00:c6:e4:6b", "ba:59:9f:00:01:c6:e4:6b"]
LINK = {"name": "rail0", "hca": "mlx5_4", "vfs": 2, "vf_guids": GUIDS}
PORT = "00:00:10:03:fe:80:00:00:00:00:00:00:"
SCRIPT = vf_guids.SCRIPT_PATH.lstrip("/")


class IbTree(NodeTree):
    """The node with an InfiniBand port that can have 8 VFs."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.nic(PF, "ibp145s0", f"{PORT}b8:59:9f:03:00:c6:e4:6b", hca="mlx5_4")
        self.write("sys/class/infiniband/mlx5_4/node_guid", f"{NODE_GUID}\n")
        for name, value in (("totalvfs", 8), ("numvfs", 0), ("offset", 1), ("stride", 1), ("drivers_autoprobe", 1)):
            self.write(f"sys/bus/pci/devices/{PF}/sriov_{name}", f"{value}\n")

    def make(self, guids: Sequence[str]) -> None:
        """The VFs as they are after somebody made them."""
        self.write(f"sys/bus/pci/devices/{PF}/sriov_numvfs", f"{len(guids)}\n")
        directory = self.root / "sys/bus/pci/devices"
        for index, (address, text) in enumerate(zip(VFS, guids)):
            self.nic(address, f"ibp145s0v{index}", PORT + text, hca=f"mlx5_{5 + index}")
            self.write(f"sys/class/net/ibp145s0v{index}/ifindex", f"{200 + index}\n")
            self.write(f"run/udev/data/n{200 + index}", "E:NM_UNMANAGED=1\n")
            octets = text.split(":")
            fours = ":".join("".join(octets[start : start + 2]) for start in range(0, 8, 2))
            self.write(f"sys/class/infiniband/mlx5_{5 + index}/node_guid", f"{fours}\n")
            (directory / PF / f"virtfn{index}").symlink_to((directory / address).resolve())
            (directory / address / "physfn").symlink_to((directory / PF).resolve())

    def sriov(self, name: str) -> str:
        return (self.root / f"sys/bus/pci/devices/{PF}/sriov_{name}").read_text().strip()


@pytest.fixture
def tree(tmp_path: Path) -> IbTree:
    return IbTree(tmp_path)


@pytest.mark.parametrize(
    "text", ["b8:59:9f:03:00:c6:e4:6b", "B8-59-9F-03-00-C6-E4-6B", NODE_GUID, "0xb8599f0300c6e46b"]
)
def test_a_guid_as_tools_write_it(text: str) -> None:
    assert guid.read(text) == "b8:59:9f:03:00:c6:e4:6b"


@pytest.mark.parametrize("text", ["", "0000:0000:0000:0000", "b8:59:9f:c6:e4:6b", "b8:59-9f:03:00:c6:e4:6b", "12345"])
def test_no_guid(text: str) -> None:
    with pytest.raises(RefusedError, match="it must be a GUID like '02:59:9f:00:01:c6:e4:6b', in quotes and not zero"):
        guid.read(text)


def test_derived_guids_keep_vendor_and_card() -> None:
    assert [guid.derived(NODE_GUID, number) for number in (0, 1, 258)] == [*GUIDS, "ba:59:9f:01:02:c6:e4:6b"]


def test_vfs_are_planned_with_script_unit_and_rule(tree: IbTree) -> None:
    found = plan(node(tree), LINK)
    assert Change("vfs", PF, 0, 2) in found.changes
    script = text_of(found, vf_guids.SCRIPT_PATH)
    assert script.startswith("#!/bin/sh\n# Written by zerocopy.rdma (nm_links).")
    assert f"\n{PF}) set -- {' '.join(GUIDS)} ;;\n" in script
    assert f"\nExecStart=/bin/sh {vf_guids.SCRIPT_PATH} %i\n" in text_of(found, vf_guids.UNIT_PATH)
    rules = text_of(found, keyfile.UDEV_PATH).splitlines()
    assert rules[-1] == (
        f'ACTION!="remove", SUBSYSTEM=="net", KERNELS=="{PF}", ATTR{{type}}=="32", TAG+="systemd", '
        f'ENV{{SYSTEMD_WANTS}}+="zerocopy-rdma-ib-vfs@{PF}.service"'
    )
    assert [rule.split(", ")[2] for rule in rules[1:-1]] == [f'KERNELS=="{address}"' for address in VFS]
    # NetworkManager would make them without GUIDs.
    assert keyfile.VFS_PATH not in [entry.path for entry in found.files]
    assert vf_guids.UNIT_PATH in found.pending
    assert [paths for paths in found.load if vf_guids.UNIT_PATH in paths] == []


def test_a_node_that_has_them_changes_no_more(tree: IbTree) -> None:
    applied(tree, LINK, vfs={PF: 0})
    tree.make(GUIDS)
    found = plan(node(tree), LINK)
    assert (found.changes, found.pending) == ([], {})
    # Also while a pod has the PF with its RDMA device, when whoever asks knows no GUIDs.
    tree.away("ibp145s0")
    (tree.root / "sys/class/infiniband/mlx5_4").unlink()
    found = plan(node(tree), {"name": "rail0", "hca": "mlx5_4", "vfs": 2})
    assert (found.changes, found.links[0]["state"]) == ([], "in_pod")


def test_a_dropped_link_takes_everything_back(tree: IbTree) -> None:
    applied(tree, LINK, vfs={PF: 0})
    tree.make(GUIDS)
    found = plan(node(tree))
    assert Change("vfs", PF, 2, 0) in found.changes
    absent = {entry.path for entry in found.files if entry.after is None}
    assert {vf_guids.SCRIPT_PATH, vf_guids.UNIT_PATH, keyfile.UDEV_PATH} <= absent
    assert vf_guids.UNIT_PATH in found.pending


def test_the_documented_recovery_removes_every_file(tree: IbTree) -> None:
    applied(tree, LINK)
    assert (tree.root / SCRIPT).exists()
    text = (Path(__file__).resolve().parents[6] / "docs/recovery.md").read_text()
    script = text.split("```sh\n")[1].split("```")[0]
    script = script.replace("root=/\nconcern=kernel_modules\n", f"root={tree.root}\nconcern=nm_links\n", 1)
    subprocess.run(["sh", "-euc", script], check=True)
    assert [path for path in (tree.root / "etc").rglob("*") if path.is_file()] == []


def test_vfs_with_other_guids_are_made_anew(tree: IbTree) -> None:
    tree.make([GUIDS[0], "00:00:00:00:00:00:00:00"])
    found = plan(node(tree), LINK)
    assert [change for change in found.changes if change.kind.startswith("vf")] == [
        Change("vf_guid", VFS[1], "none", GUIDS[1])
    ]
    assert found.handed == []


def test_a_vf_in_a_pod_keeps_its_guid(tree: IbTree) -> None:
    tree.make(["02:00:00:00:00:00:00:01", GUIDS[1]])
    tree.away("ibp145s0v1")
    with pytest.raises(HostError) as caught:
        plan(node(tree), LINK)
    assert str(caught.value) == (
        f"links: rail0: vfs: VF {VFS[0]} has GUID 02:00:00:00:00:00:00:01 and would get {GUIDS[0]}, for which all VFs "
        f"must go, but VF {VFS[1]} (mlx5_core) has no netdev on the host, so it is in a pod or a VM; stop what uses it "
        "first"
    )


def test_guids_cannot_be_set_while_a_pod_has_the_port(tree: IbTree) -> None:
    tree.away("ibp145s0")
    with pytest.raises(HostError, match=r"GUIDs are set through the netdev of 0000:91:00\.0, which is not on the host"):
        plan(node(tree), LINK)


def with_another_driver(tree: IbTree) -> None:
    driver = tree.root / "sys/bus/pci/devices" / PF / "driver"
    driver.unlink()
    driver.symlink_to("../../../bus/pci/drivers/mlx4_core")


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ({"vf_guids": []}, "vfs is 2, but there are 0 vf_guids: each VF of an InfiniBand port needs one"),
        ({"vfs": 3}, "vf_guids: has 2 GUIDs, but vfs is 3: each VF needs one"),
        ({"vfs": None}, "vf_guids: has 2 GUIDs, but vfs is 0: each VF needs one"),
        ({"vf_guids": ["02::1", GUIDS[0]]}, "vf_guids is '02::1', it must be a GUID like"),
        ({"vf_guids": [GUIDS[0]] * 2}, f"GUID {GUIDS[0]} is already taken by links: rail0; each can be used once"),
        ({"hca": "mlx5_0"}, "vf_guids are for InfiniBand, but hca mlx5_0 port 1 is Ethernet"),
        ({"type": "ethernet"}, "vf_guids are for InfiniBand, but hca mlx5_4 port 1 is Ethernet"),
    ],
)
def test_refused(tree: IbTree, link: Dict[str, Any], message: str) -> None:
    with pytest.raises(HostError) as caught:
        plan(node(tree), {**LINK, **link})
    assert message in str(caught.value)


def test_only_one_driver_can(tree: IbTree) -> None:
    with_another_driver(tree)
    with pytest.raises(HostError, match="has the driver mlx4_core: only mlx5_core can set GUIDs of VFs"):
        plan(node(tree), LINK)


class Shell:
    """A node on which the script runs: its ``ip`` says how it was called and what it saw of the PF."""

    def __init__(self, tree: IbTree, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tree = tree
        self.calls: List[Sequence[str]] = []
        self.pf = tree.root / "sys/bus/pci/devices" / PF
        # What is written there comes out of the script.
        (tree.root / "sys/bus/pci/drivers_probe").symlink_to("/dev/stdout")
        text = vf_guids.script_text({PF: GUIDS}, str(tree.root / "sys"), str(tree.root / "run"))
        tree.write(SCRIPT, text or "")
        self.ip()
        monkeypatch.setenv("PATH", f"{tree.root}/bin:/usr/bin:/bin")

    def ip(self, ending: str = "") -> None:
        told = f"$(cat {self.pf}/sriov_numvfs) $(cat {self.pf}/sriov_drivers_autoprobe)"
        self.tree.write("bin/ip", f'#!/bin/sh\necho "ip $*: {told}"\n{ending}\n')
        (self.tree.root / "bin/ip").chmod(0o755)

    def run(self, pf: str = PF) -> Completed:
        return command.run(["/bin/sh", str(self.tree.root / SCRIPT), pf])

    def runner(self, argv: Sequence[str], timeout: float = 60, stdin: Optional[str] = None) -> Completed:
        self.calls.append(argv)
        return command.run(argv, timeout, stdin) if argv[0] == "/bin/sh" else Completed(0, "", "")

    @property
    def numbers(self) -> List[str]:
        return [self.tree.sriov("numvfs"), self.tree.sriov("drivers_autoprobe")]


@pytest.fixture
def shell(tree: IbTree, monkeypatch: pytest.MonkeyPatch) -> Shell:
    tree.make(GUIDS)
    for address in VFS:
        (tree.root / "sys/bus/pci/devices" / address / "driver").unlink()
    tree.write(f"sys/bus/pci/devices/{PF}/sriov_numvfs", "0\n")
    return Shell(tree, monkeypatch)


def set_by_ip(number: int) -> str:
    text = GUIDS[number]
    return f"ip link set dev ibp145s0 vf {number} node_guid {text} port_guid {text} state auto: 2 0"


def test_the_script_sets_guids_before_it_binds_drivers(shell: Shell) -> None:
    shell.tree.write(f"sys/bus/pci/devices/{PF}/net/ibp145s0.8001/type", "32\n")
    shell.tree.write(f"sys/bus/pci/devices/{PF}/net/ibp145s0.8001/parent", "ibp145s0\n")
    done = shell.run()
    assert (done.rc, done.err) == (0, "")
    assert done.out.splitlines() == [set_by_ip(0), set_by_ip(1), *VFS]
    assert shell.numbers == ["2", "1"]


def test_the_script_leaves_vfs_that_are_there_alone(shell: Shell) -> None:
    shell.tree.write(f"sys/bus/pci/devices/{PF}/sriov_numvfs", "2\n")
    assert shell.run() == Completed(0, "", "")
    assert shell.numbers == ["2", "1"]
    # A udev rule of the admin was first: these have no GUIDs.
    shell.tree.write(f"sys/bus/pci/devices/{PF}/sriov_numvfs", "1\n")
    done = shell.run()
    assert (done.rc, done.reason) == (1, f"{PF} has 1 VFs already, not 2, so something else has created them")
    assert shell.numbers == ["1", "1"]


def test_the_script_leaves_other_ports_alone(shell: Shell) -> None:
    assert shell.run("0000:81:00.0") == Completed(0, "", "")
    assert shell.numbers == ["0", "1"]


def test_the_script_binds_no_driver_where_the_node_shall_not(shell: Shell) -> None:
    shell.tree.write(f"sys/bus/pci/devices/{PF}/sriov_drivers_autoprobe", "0\n")
    assert shell.run().out.splitlines() == [set_by_ip(0), set_by_ip(1)]
    assert shell.numbers == ["2", "0"]


def test_the_script_leaves_no_vfs_without_guids(shell: Shell) -> None:
    shell.ip('case $* in *" vf 1 "*) echo "RTNETLINK answers: Operation not supported" >&2; exit 2 ;; esac')
    done = shell.run()
    assert (done.rc, done.reason) == (2, "RTNETLINK answers: Operation not supported")
    assert shell.numbers == ["0", "1"]


def killed(shell: Shell) -> None:
    """The script is killed when the first VF has its GUID."""
    shell.ip('case $* in *" vf 1 "*) kill -9 $PPID ;; esac')
    shell.run()
    assert shell.numbers == ["2", "0"]
    shell.ip()


def test_vfs_that_a_killed_script_has_left_are_made_again(shell: Shell) -> None:
    killed(shell)
    done = shell.run()
    assert (done.rc, done.err) == (0, "")
    assert done.out.splitlines() == [set_by_ip(0), set_by_ip(1), *VFS]
    assert shell.numbers == ["2", "1"]
    # Now they may be in pods.
    assert shell.run() == Completed(0, "", "")
    assert not (shell.tree.root / vf_guids.half_made(PF)).exists()


def test_a_run_sees_what_a_killed_script_has_left(shell: Shell) -> None:
    tree = shell.tree
    for number in (5, 6):
        (tree.root / f"sys/class/infiniband/mlx5_{number}").unlink()
    for address in VFS:
        shutil.rmtree((tree.root / "sys/bus/pci/devices" / address).resolve() / "infiniband")
    killed(shell)
    found = plan(node(tree), LINK)
    assert [change for change in found.changes if change.kind.startswith("vf")] == [
        Change("vf_guid", address, "none", text) for address, text in zip(VFS, GUIDS)
    ]
    live.make(shell.runner, Tree(str(tree.root)), [(PF, 2)], {}, anew={PF})
    assert shell.numbers == ["2", "1"]
    assert [change for change in plan(node(tree), LINK).changes if change.kind.startswith("vf")] == []


def test_what_a_killed_script_has_left_is_taken_back_without_it(shell: Shell) -> None:
    killed(shell)
    (shell.tree.root / SCRIPT).unlink()
    live.make(shell.runner, Tree(str(shell.tree.root)), [(PF, 0)], {})
    assert shell.numbers == ["0", "1"]
    assert not (shell.tree.root / vf_guids.half_made(PF)).exists()


def test_the_script_needs_the_netdev(shell: Shell) -> None:
    shell.tree.away("ibp145s0")
    done = shell.run()
    assert (done.rc, done.reason) == (
        1,
        f"{PF} has no netdev on the host, through which the GUIDs of its VFs are set",
    )
    assert shell.numbers == ["0", "1"]


def test_a_driver_that_fails_for_one_vf_does_not_keep_the_others_from_theirs(shell: Shell) -> None:
    probe = shell.tree.root / "sys/bus/pci/drivers_probe"
    probe.unlink()
    probe.symlink_to("/dev/full")
    done = shell.run()
    assert (done.rc, done.err.count("\n")) == (1, 2)
    assert shell.numbers == ["2", "1"]


def test_vfs_are_made_by_the_script(shell: Shell) -> None:
    # Nothing creates netdevs here, so there is nothing to wait for.
    shell.tree.write(f"sys/bus/pci/devices/{PF}/sriov_drivers_autoprobe", "0\n")
    files = Tree(str(shell.tree.root))
    live.make(shell.runner, files, [(PF, 2), (PF, 2)], {})
    assert shell.numbers == ["2", "0"]
    assert [argv[0] for argv in shell.calls].count("/bin/sh") == 1
    # Again only where GUIDs differ, and by way of none, at which the script would otherwise stop.
    live.make(shell.runner, files, [(PF, 2)], {})
    assert [argv[0] for argv in shell.calls].count("/bin/sh") == 1
    live.make(shell.runner, files, [(PF, 2), (PF, 2)], {}, anew={PF})
    assert [argv[0] for argv in shell.calls].count("/bin/sh") == 2
    assert shell.numbers == ["2", "0"]
    # Without GUIDs, what an earlier tool had made comes back.
    shell.tree.write(SCRIPT, "exit 0\n")
    live.make(shell.runner, files, [(PF, 1)], {})
    assert shell.numbers == ["1", "0"]


def test_a_script_that_fails_says_why(shell: Shell) -> None:
    shell.ip("echo no such thing >&2; exit 1")
    with pytest.raises(HostError, match=f"vfs: the number of VFs of {PF} cannot be set to 2: no such thing"):
        live.make(shell.runner, Tree(str(shell.tree.root)), [(PF, 2)], {})
