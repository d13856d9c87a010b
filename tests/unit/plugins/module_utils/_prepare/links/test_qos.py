# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""RoCE's quality of service of ports: set, changed, drifted, taken back, and killed in between.

The drivers are synthesised: :class:`Driver` keeps what ``dcb`` is called with, as mlx5 does it, and its files are those
of configfs. The script that sets it at boot is run by a real shell.
"""

from __future__ import annotations

import copy
import os
import re
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import qos as discover_qos
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.qos import Ets, Qos
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import apply, qos_live, qos_unit, request
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import plan as links_plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.state import LinkChanges
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import command
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.changes import Change
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Completed
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import writing
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.links.nm_node import NodeTree
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.links.nm_sriov import node

ASKED = {"hca": "mlx5_0", "priority": 3, "dscp": 26, "cnp_priority": 6, "cnp_dscp": 48}
SELECTORS = [dscp // 8 for dscp in range(64)]
MAC = "b8:59:9f:3b:2b:88"
OFF: Dict[str, Any] = {
    "dscp": None,
    "ets": Ets([1, 0, 2, 3, 4, 5, 6, 7], ["vendor"] * 8, [100] * 8),
    "pfc": [],
}


class Killed(BaseException):
    """What SIGKILL is to the code: nothing after it runs."""


class Driver:
    """DCB of netdevs, RDMA-CM's types of service by HCA, and a runner that may be killed at its n-th step."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.dcb: Dict[str, Optional[Dict[str, Any]]] = {name: copy.deepcopy(OFF) for name in ("ens1np0", "ens2np0")}
        self.managed_by = "host"
        self.tos = {"mlx5_0": 0, "mlx5_1": 0}
        self.steps, self.kill_at, self.refuse = 0, 0, ""
        self.calls: List[List[str]] = []
        self.configfs = root / "sys/kernel/config/rdma_cm"
        self.configfs.mkdir(parents=True)
        monkeypatch.setattr(qos_live, "CONFIGFS", str(self.configfs))
        monkeypatch.setattr(discover_qos, "attach", self.attach)
        monkeypatch.setattr(command, "find", lambda tool: f"/usr/sbin/{tool}")
        rmdir = os.rmdir
        monkeypatch.setattr(writing, "make_directories", self._made)
        monkeypatch.setattr(os, "rmdir", lambda path, **rest: self._removed(str(path), rmdir, **rest))

    def state(self) -> Any:
        return copy.deepcopy((self.dcb, self.tos, sorted(os.listdir(self.configfs))))

    def step(self) -> None:
        self.steps += 1
        if self.steps == self.kill_at:
            raise Killed

    def _attribute(self, hca: str) -> Path:
        return self.configfs / hca / "ports/1/default_roce_tos"

    def _made(self, path: str) -> None:
        """As configfs does it; other directories are made as ever."""
        os.makedirs(path, exist_ok=True)
        if os.path.dirname(path) == str(self.configfs):
            attribute = self._attribute(os.path.basename(path))
            os.makedirs(attribute.parent)
            attribute.write_text(f"{self.tos[os.path.basename(path)]}\n")
            self.step()

    def _removed(self, path: str, rmdir: Any, **rest: Any) -> None:
        if os.path.dirname(path) == str(self.configfs):
            hca = os.path.basename(path)
            self._attribute(hca).unlink()
            rmdir(self._attribute(hca).parent)
            rmdir(self.configfs / hca / "ports")
        rmdir(path, **rest)

    def settle(self) -> None:
        """What was written to files of configfs is RDMA-CM's."""
        for hca in self.tos:
            if self._attribute(hca).exists():
                self.tos[hca] = int(self._attribute(hca).read_text())

    def attach(self, _tree: Any, hcas: Sequence[Any]) -> None:
        self.settle()
        for hca in hcas:
            port = hca.ports[0]
            name = port.netdev.name if port.netdev else ""
            own = self.dcb.get(name)
            found = Qos(netdev=name, dcb="not_offered")
            if own is not None:
                trust = "dscp" if own["dscp"] else "pcp"
                found = Qos(netdev=name, dcb="offered", managed_by=self.managed_by, trust=trust, **own)
            path = self._attribute(hca.name)
            found.roce_tos = int(path.read_text()) if path.exists() else None
            port.qos = found

    def run(self, argv: Sequence[str], timeout: float = 60, stdin: Optional[str] = None) -> Completed:
        self.step()
        self.calls.append(list(argv))
        if self.refuse and " ".join(argv).startswith(self.refuse):
            return Completed(1, "", "Attribute write: Operation not supported")
        if argv[0] == "dcb":
            self._dcb(list(argv[1:]))
        return Completed(0, "", "")

    def _dcb(self, words: List[str]) -> None:
        own = self.dcb[words[3]]
        assert own is not None
        if words[:2] == ["app", "flush"]:
            own["dscp"] = None
        elif words[:2] == ["app", "replace"]:
            found = list(own["dscp"] or SELECTORS)
            for word in words[5:]:
                dscp, _colon, priority = word.partition(":")
                found[int(dscp)] = int(priority)
            own["dscp"] = found
        elif words[0] == "pfc":
            assert words[5] == "all:off"
            own["pfc"] = [int(word[0]) for word in words[6:]]
        else:
            places = [words.index(word) for word in ("prio-tc", "tc-tsa", "tc-bw")] + [len(words)]
            lists = [[word.split(":")[1] for word in words[a + 1 : b]] for a, b in zip(places, places[1:])]
            own["ets"] = Ets([int(word) for word in lists[0]], lists[1], [int(word) for word in lists[2]])


@pytest.fixture
def tree(tmp_path: Path) -> NodeTree:
    return NodeTree(tmp_path)


@pytest.fixture
def driver(tree: NodeTree, monkeypatch: pytest.MonkeyPatch) -> Driver:
    return Driver(tree.root, monkeypatch)


def planned(tree: NodeTree, *ports: Dict[str, Any]) -> LinkChanges:
    return links_plan.build(node(tree), (), (), request.parse_qos(ports))


def converge(tree: NodeTree, driver: Driver, *ports: Dict[str, Any]) -> List[Change]:
    """As the module changes a running node."""
    on, roce = node(tree), request.parse_qos(ports)
    with on.ledger.locked():
        plan = links_plan.build(on, (), (), roce)
        transaction = apply.LinkTransaction(on, plan, driver.run, None, roce)
        transaction._live = True
        transaction.apply()
    driver.settle()
    return plan.changes


def files(tree: NodeTree) -> Dict[str, bytes]:
    found = {}
    for directory in ("etc", "var"):
        for path in sorted((tree.root / directory).rglob("*")):
            # The lock stays while its directory does.
            if path.is_file() and path.name != "lock":
                found[str(path.relative_to(tree.root))] = path.read_bytes()
    return found


def of_qos(changes: Sequence[Change]) -> Dict[str, Any]:
    return {change.name: (change.before, change.after) for change in changes if change.kind == "qos"}


def test_everything_is_set_and_a_second_run_changes_nothing(tree: NodeTree, driver: Driver) -> None:
    changes = converge(tree, driver, ASKED)
    selectors = "8-15 to 1, 16-23 to 2, 24-31 to 3, 32-39 to 4, 40-47 to 5, 48-55 to 6, 56-63 to 7"
    assert of_qos(changes) == {
        "ens1np0 DSCP map": ("none (the VLAN tag is trusted)", selectors),
        "ens1np0 PFC": ("none", "3"),
        "ens1np0 RDMA-CM type of service": ("unknown", "106"),
    }
    assert [change.name for change in changes if change.kind == "file"] == [
        qos_unit.UNIT_PATH,
        qos_unit.UDEV_PATH,
        qos_unit.SCRIPT_PATH,
    ]
    own = driver.dcb["ens1np0"]
    assert own == {"dscp": SELECTORS, "ets": OFF["ets"], "pfc": [3]}
    assert driver.tos == {"mlx5_0": 106, "mlx5_1": 0}
    assert driver.dcb["ens2np0"] == OFF
    # What takes the link down comes last.
    assert [call[1] for call in driver.calls if call[0] == "dcb"] == ["app", "pfc"]
    assert ["systemctl", "daemon-reload"] in driver.calls
    driver.calls.clear()
    assert converge(tree, driver, ASKED) == []
    assert [call for call in driver.calls if call[0] == "dcb"] == []


def test_check_mode_says_the_same_and_changes_nothing(tree: NodeTree, driver: Driver) -> None:
    before, state = files(tree), driver.state()
    predicted = planned(tree, ASKED).changes
    assert (files(tree), driver.state()) == (before, state)
    assert converge(tree, driver, ASKED) == predicted


def test_what_is_asked_for_no_more_gets_back_what_it_had(tree: NodeTree, driver: Driver) -> None:
    own = driver.dcb["ens1np0"]
    assert own is not None
    own.update(dscp=[0] * 64, pfc=[1])
    before, state = files(tree), driver.state()
    converge(tree, driver, ASKED)
    changes = converge(tree, driver)
    assert of_qos(changes)["ens1np0 PFC"] == ("3", "1")
    assert (files(tree), driver.state()) == (before, state)
    assert converge(tree, driver) == []


def test_values_that_change_are_set_anew_and_the_old_ones_are_gone(tree: NodeTree, driver: Driver) -> None:
    state = driver.state()
    converge(tree, driver, {**ASKED, "dscp": 10, "priority": 5})
    own = driver.dcb["ens1np0"]
    assert own is not None
    assert own["dscp"][10] == 5
    converge(tree, driver, ASKED)
    assert (own["dscp"], own["pfc"], driver.tos["mlx5_0"]) == (SELECTORS, [3], 106)
    converge(tree, driver)
    assert driver.state() == state


def test_drift_is_seen_and_mended(tree: NodeTree, driver: Driver) -> None:
    converge(tree, driver, ASKED)
    own = driver.dcb["ens1np0"]
    assert own is not None
    own["pfc"] = [3, 4]
    # As of a driver that was loaded again, or a netdev that came back from a pod.
    own["dscp"] = None
    (driver.configfs / "mlx5_0/ports/1/default_roce_tos").write_text("0\n")
    assert of_qos(planned(tree, ASKED).changes) == {
        "ens1np0 DSCP map": ("none (the VLAN tag is trusted)", _selectors()),
        "ens1np0 PFC": ("3, 4", "3"),
        "ens1np0 RDMA-CM type of service": ("0", "106"),
    }
    converge(tree, driver, ASKED)
    assert planned(tree, ASKED).changes == []


def _selectors() -> str:
    return "8-15 to 1, 16-23 to 2, 24-31 to 3, 32-39 to 4, 40-47 to 5, 48-55 to 6, 56-63 to 7"


def test_what_somebody_has_changed_since_stays(tree: NodeTree, driver: Driver) -> None:
    converge(tree, driver, ASKED)
    own = driver.dcb["ens1np0"]
    assert own is not None
    own["pfc"] = [5]
    plan = planned(tree)
    assert plan.warnings == ["ens1np0 PFC was none before us; somebody has changed it since, so it stays"]
    converge(tree, driver)
    assert (own["pfc"], own["dscp"]) == ([5], None)
    assert converge(tree, driver) == []


def test_a_share_of_the_bandwidth(tree: NodeTree, driver: Driver) -> None:
    state = driver.state()
    converge(tree, driver, {**ASKED, "bandwidth": 50})
    own = driver.dcb["ens1np0"]
    assert own is not None
    assert own["ets"] == Ets([1, 0, 2, 3, 4, 5, 6, 7], ["ets"] * 8, [8, 7, 7, 50, 7, 7, 7, 7])
    assert sum(own["ets"].bandwidth) == 100
    assert planned(tree, {**ASKED, "bandwidth": 50}).changes == []
    converge(tree, driver)
    assert driver.state() == state


def test_roce_gets_a_traffic_class_of_its_own(tree: NodeTree, driver: Driver) -> None:
    own = driver.dcb["ens1np0"]
    assert own is not None
    own["ets"] = Ets([0] * 8, ["strict", *["ets"] * 7], [0, 100, 0, 0, 0, 0, 0, 0])
    converge(tree, driver, {**ASKED, "bandwidth": 50})
    assert own["ets"].traffic_classes == [0, 0, 0, 1, 0, 0, 0, 0]
    assert (own["ets"].algorithms[:2], own["ets"].share(3)) == (["strict", "ets"], 100)


def test_without_dcb_only_the_type_of_service_is_set(tree: NodeTree, driver: Driver) -> None:
    driver.dcb["ens1np0"] = None
    assert list(of_qos(converge(tree, driver, ASKED))) == ["ens1np0 RDMA-CM type of service"]
    assert (
        "offers no Data Center Bridging (DCB), so only RDMA-CM's type of service is set"
        in planned(tree, ASKED).warnings[0]
    )
    script = (tree.root / qos_unit.SCRIPT_PATH.lstrip("/")).read_text()
    assert f"{MAC}) tos=106 ;;" in script


@pytest.mark.parametrize(
    ("ports", "said"),
    [
        ([{**ASKED, "priority": 0}], "qos: mlx5_0/1: priority is 0, it must be 1 to 7"),
        ([{**ASKED, "dscp": 64}], "qos: mlx5_0/1: dscp is 64, it must be 1 to 63"),
        ([ASKED, ASKED], "qos: mlx5_0/1: this port is already taken"),
        ([{**ASKED, "hca": "eno1/x"}], "is not the name of an RDMA device"),
        ([{**ASKED, "hca": "mlx5_9"}], "the node has no HCA 'mlx5_9'"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_changes(
    tree: NodeTree, driver: Driver, ports: Any, said: str
) -> None:
    before, state = files(tree), driver.state()
    with pytest.raises(HostError) as error:
        converge(tree, driver, *ports)
    assert said in str(error.value)
    assert (files(tree), driver.state()) == (before, state)


def test_the_management_nic_is_refused(tree: NodeTree, driver: Driver) -> None:
    tree.write("proc/net/route", (tree.root / "proc/net/route").read_text().replace("eno1", "ens1np0"))
    with pytest.raises(HostError, match="qos: mlx5_0/1 cannot be used: ens1np0 carries the default route"):
        planned(tree, ASKED)


def test_infiniband_is_refused(tree: NodeTree, driver: Driver) -> None:
    tree.nic("0000:91:00.0", "ibp145s0", "00:00:10:03:fe:80:00:00:00:00:00:00:b8:59:9f:03:00:c6:e4:6b", hca="mlx5_4")
    with pytest.raises(HostError, match="mlx5_4/1 is InfiniBand"):
        planned(tree, {**ASKED, "hca": "mlx5_4"})


def test_firmware_that_manages_it_is_refused_before_anything_changes(tree: NodeTree, driver: Driver) -> None:
    driver.managed_by = "firmware"
    before = files(tree)
    with pytest.raises(HostError, match="dcb dcbx set dev ens1np0 host ieee"):
        converge(tree, driver, ASKED)
    assert files(tree) == before


def test_a_node_without_the_tool_is_refused(tree: NodeTree, driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "find", lambda _tool: "")
    with pytest.raises(HostError, match=r"the tool 'dcb' is not installed; it is part of iproute2 since 5.11"):
        planned(tree, ASKED)


@pytest.mark.parametrize("refuse", ["dcb app", "dcb pfc", "systemctl"])
def test_a_change_that_fails_is_taken_back(tree: NodeTree, driver: Driver, refuse: str) -> None:
    before, state = files(tree), driver.state()
    driver.refuse = refuse
    with pytest.raises(HostError) as error:
        converge(tree, driver, ASKED)
    driver.settle()
    assert "Operation not supported" in str(error.value)
    assert str(error.value).endswith("everything was rolled back") == (refuse != "systemctl")
    assert driver.state() == state
    driver.refuse = ""
    converge(tree, driver)
    assert (files(tree), driver.state()) == (before, state)


def test_a_kernel_without_configfs_is_named_and_dcb_is_taken_back(tree: NodeTree, driver: Driver) -> None:
    before, state = files(tree), driver.state()
    driver.configfs.rmdir()
    with pytest.raises(
        HostError, match="does not exist: rdma_cm is not loaded, or configfs is not mounted; everything"
    ):
        converge(tree, driver, ASKED)
    assert ["modprobe", "rdma_cm"] in driver.calls
    driver.configfs.mkdir()
    assert (files(tree), driver.state()) == (before, state)


def test_a_driver_that_keeps_nothing_is_named(tree: NodeTree, driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_dcb", lambda _words: None)
    with pytest.raises(HostError, match=r"ens1np0 DSCP map is none .* was set: the driver refuses it; everything was"):
        converge(tree, driver, ASKED)
    assert driver.tos["mlx5_0"] == 0


def test_killed_at_each_step_a_rerun_heals_and_the_way_back_leaves_nothing(tree: NodeTree, driver: Driver) -> None:
    before, state = files(tree), driver.state()
    wanted = {**ASKED, "bandwidth": 50}
    tried = 0
    for ports in ((wanted,), ()):
        moment = 0
        while True:
            if not ports:
                converge(tree, driver, wanted)
            moment += 1
            driver.steps, driver.kill_at = 0, moment
            killed = False
            try:
                converge(tree, driver, *ports)
            except Killed:
                killed = True
            driver.kill_at = 0
            driver.settle()
            converge(tree, driver, wanted)
            assert planned(tree, wanted).changes == [], moment
            converge(tree, driver)
            assert (files(tree), driver.state()) == (before, state), moment
            if not killed:
                break
            tried += 1
    assert tried >= 8


def test_a_port_in_a_pod_keeps_its_entry_and_gets_it_back_later(tree: NodeTree, driver: Driver) -> None:
    state = driver.state()
    converge(tree, driver, ASKED)
    script = (tree.root / qos_unit.SCRIPT_PATH.lstrip("/")).read_text()
    tree.away("ens1np0")
    plan = planned(tree, ASKED)
    assert (plan.changes, plan.warnings) == ([], [])
    assert (tree.root / qos_unit.SCRIPT_PATH.lstrip("/")).read_text() == script
    plan = planned(tree)
    assert (
        "mlx5_0/1 (b8:59:9f:3b:2b:88) is not on the host now, so what it had before cannot be restored"
        in (plan.warnings[0])
    )
    converge(tree, driver)
    assert not (tree.root / qos_unit.SCRIPT_PATH.lstrip("/")).exists()
    device = tree.root / "sys/devices/pci0000:81/0000:81:00.0"
    tree.write("sys/devices/pci0000:81/0000:81:00.0/net/ens1np0/address", MAC + "\n")
    for name, text in {"type": "1", "mtu": "1500", "ifindex": "129"}.items():
        tree.write(f"sys/devices/pci0000:81/0000:81:00.0/net/ens1np0/{name}", text + "\n")
    (tree.root / "sys/class/net/ens1np0").symlink_to(device / "net/ens1np0")
    converge(tree, driver)
    assert driver.state() == state


def test_a_port_that_was_never_seen_is_left_for_later(tree: NodeTree, driver: Driver) -> None:
    tree.away("ens1np0")
    plan = planned(tree, ASKED)
    assert (plan.changes, plan.warnings) == (
        [],
        ["qos: mlx5_0/1 is not on the host now: repeat the run when it is back"],
    )


def test_the_directories_that_keep_rdma_cm_loaded_are_known(tree: NodeTree, driver: Driver) -> None:
    def made() -> List[str]:
        on = node(tree)
        return [os.path.relpath(path, tree.root) for path in qos_live.made(on.tree, on.ledger.notes.get("qos", {}))]

    # Somebody else's.
    driver._made(str(driver.configfs / "mlx5_1"))
    converge(tree, driver, ASKED, {**ASKED, "hca": "mlx5_1"})
    assert made() == ["sys/kernel/config/rdma_cm/mlx5_0"]
    # As the script at boot does it where a driver gives the device another name.
    devices = tree.root / "sys/class/infiniband"
    (devices / "mlx5_0").rename(devices / "rocep129s0")
    (driver.configfs / "mlx5_0").rename(driver.configfs / "rocep129s0")
    assert made() == ["sys/kernel/config/rdma_cm/rocep129s0"]
    os.rmdir(driver.configfs / "rocep129s0")
    assert made() == []


def _renamed(tree: NodeTree, driver: Driver, **names: str) -> None:
    """As after a boot with a driver, or a rule of udev, that gives RDMA devices other names."""
    devices = tree.root / "sys/class/infiniband"
    for directory in (devices, driver.configfs):
        for old in names:
            if os.path.lexists(directory / old):
                (directory / old).rename(directory / f"was-{old}")
        for old, new in names.items():
            if os.path.lexists(directory / f"was-{old}"):
                (directory / f"was-{old}").rename(directory / new)
    driver.tos = {names.get(hca, hca): tos for hca, tos in driver.tos.items()}


def test_a_device_with_another_name_gets_back_what_it_had_before_us(tree: NodeTree, driver: Driver) -> None:
    dcb, before = copy.deepcopy(driver.dcb), files(tree)
    converge(tree, driver, ASKED)
    _renamed(tree, driver, mlx5_0="rocep129s0")
    renamed = {**ASKED, "hca": "rocep129s0"}
    plan = planned(tree, renamed)
    assert (plan.changes, plan.warnings) == ([], [])
    assert plan.qos.notes["rocep129s0/1"]["before"] == {"dscp": [], "ets": asdict(OFF["ets"]), "pfc": [], "tos": 0}
    converge(tree, driver, renamed)
    changes = converge(tree, driver)
    assert sorted(of_qos(changes)) == ["ens1np0 DSCP map", "ens1np0 PFC", "ens1np0 RDMA-CM type of service"]
    assert (driver.dcb, driver.tos, os.listdir(driver.configfs)) == (dcb, {"rocep129s0": 0, "mlx5_1": 0}, [])
    assert files(tree) == before


def test_devices_that_swap_names_keep_their_own(tree: NodeTree, driver: Driver) -> None:
    dcb = copy.deepcopy(driver.dcb)
    converge(tree, driver, ASKED, {**ASKED, "hca": "mlx5_1", "priority": 4})
    _renamed(tree, driver, mlx5_0="mlx5_1", mlx5_1="mlx5_0")
    assert planned(tree, {**ASKED, "hca": "mlx5_1"}, {**ASKED, "priority": 4}).changes == []
    converge(tree, driver)
    assert (driver.dcb, driver.tos) == (dcb, {"mlx5_0": 0, "mlx5_1": 0})


def test_the_name_of_a_port_that_is_away_may_be_another_ones(tree: NodeTree, driver: Driver) -> None:
    converge(tree, driver, ASKED, {**ASKED, "hca": "mlx5_1"})
    tree.away("ens2np0")
    (tree.root / "sys/class/infiniband/mlx5_1").unlink()
    _renamed(tree, driver, mlx5_0="mlx5_1", mlx5_1="gone")
    plan = planned(tree)
    assert {change.netdev for change in plan.qos.changes} == {"ens1np0"}
    assert [note["netdev"] for note in plan.qos.notes.values()] == ["ens2np0"]


def test_an_image_gets_what_its_driver_is_to_have_at_boot(tree: NodeTree) -> None:
    on = node(tree)
    image = type(on)(on.tree, on.ledger, on.interfaces, on.hcas, on.routes)
    plan = links_plan.build(image, (), (), request.parse_qos([ASKED]))
    assert [change.kind for change in plan.changes] == ["file"] * 3
    assert plan.qos.ports == [qos_unit.Port(MAC, 106, tuple(SELECTORS), 3)]


def _shell(
    root: Path, mac: str, ports: Sequence[qos_unit.Port], dcb: str = "exit 0", **others: str
) -> subprocess.CompletedProcess[str]:
    """Run the script with these tools, each the text of a shell script."""
    text = qos_unit.script_text(ports, str(root / "sys"))
    assert text is not None
    (root / "qos.sh").write_text(text)
    tools = root / "tools"
    tools.mkdir(exist_ok=True)
    bodies = {"dcb": f'echo "$*" >>{root}/said; {dcb}', "modprobe": "exit 0", "sleep": "exit 0", **others}
    for name, body in bodies.items():
        (tools / name).write_text(f"#!/bin/sh\n{body}\n")
        (tools / name).chmod(0o755)
    environment = {"PATH": f"{tools}:{os.environ['PATH']}"}
    return subprocess.run(
        ["/bin/sh", str(root / "qos.sh"), mac], env=environment, capture_output=True, text=True, check=False
    )


def _configfs(tree: NodeTree) -> Path:
    """The port's netdev on its PCI function, and where RDMA-CM has directories of devices; there is none yet."""
    (tree.root / "sys/class/net/ens1np0/device").symlink_to(tree.root / "sys/bus/pci/devices/0000:81:00.0")
    found = tree.root / "sys/kernel/config/rdma_cm"
    found.mkdir(parents=True)
    return found


def test_the_script_sets_the_same_at_boot(tree: NodeTree) -> None:
    attribute = _configfs(tree) / "mlx5_0/ports/1/default_roce_tos"
    attribute.parent.mkdir(parents=True)
    attribute.write_text("0\n")
    # Stacked on the port, with its address.
    tree.write("sys/class/net/ens1np0.7/address", MAC + "\n")
    port = qos_unit.Port(MAC, 106, tuple(SELECTORS), 3, Ets([0], ["cb_shaper"], [100]))
    done = _shell(tree.root, MAC, [port, qos_unit.Port("b8:59:9f:3b:2b:89", 162)])
    assert (done.returncode, done.stderr) == (0, "")
    pairs = " ".join(f"{dscp}:{priority}" for dscp, priority in enumerate(SELECTORS))
    assert (tree.root / "said").read_text().splitlines() == [
        f"app replace dev ens1np0 dscp-prio {pairs}",
        "ets set dev ens1np0 prio-tc 0:0 tc-tsa 0:cbs tc-bw 0:100",
        "pfc set dev ens1np0 prio-pfc all:off 3:on",
    ]
    assert attribute.read_text() == "106\n"


def test_the_script_does_nothing_to_other_ports(tree: NodeTree) -> None:
    port = qos_unit.Port(MAC, 106, tuple(SELECTORS), 3)
    assert _shell(tree.root, "b8:59:9f:3b:2b:89", [port]).returncode == 0
    assert not (tree.root / "said").exists()


def test_the_script_sets_the_type_of_service_although_dcb_fails(tree: NodeTree) -> None:
    attribute = _configfs(tree) / "mlx5_0/ports/1/default_roce_tos"
    attribute.parent.mkdir(parents=True)
    done = _shell(tree.root, MAC, [qos_unit.Port(MAC, 106, tuple(SELECTORS), 3)], dcb="exit 1")
    assert (done.returncode, attribute.read_text()) == (1, "106\n")


def test_the_script_says_when_there_is_no_rdma_device(tree: NodeTree) -> None:
    _configfs(tree)
    (tree.root / "sys/class/infiniband/mlx5_0").unlink()
    done = _shell(tree.root, MAC, [qos_unit.Port(MAC, 106)])
    assert done.returncode == 1
    assert done.stderr == "ens1np0 has no RDMA device that RDMA-CM knows, so RDMA-CM's type of service is not set\n"


def test_the_script_waits_until_rdma_cm_knows_the_device(tree: NodeTree) -> None:
    """Seen in a guest at boot: sysfs has the device, and configfs answers ENODEV for its directory."""
    configfs = _configfs(tree)
    knows = tree.root / "rdma_cm_knows"
    tools = {
        "mkdir": f'[ -e {knows} ] || {{ echo "No such device" >&2; exit 1; }}; /bin/mkdir -p "$1/ports/1"',
        "sleep": f"touch {knows}",
    }
    done = _shell(tree.root, MAC, [qos_unit.Port(MAC, 106)], **tools)
    assert (done.returncode, done.stderr) == (0, "No such device\n")
    assert (configfs / "mlx5_0/ports/1/default_roce_tos").read_text() == "106\n"


def test_the_script_waits_for_a_device_that_appears_late(tree: NodeTree) -> None:
    configfs = _configfs(tree)
    device, counted = tree.root / "sys/class/infiniband/mlx5_0", tree.root / "seconds"
    device.rename(tree.root / "later")
    counted.write_text("0")
    tools = {
        "mkdir": '/bin/mkdir -p "$1/ports/1"',
        "sleep": f"read n <{counted}; echo $((n + 1)) >{counted}; [ $n != 90 ] || mv {tree.root}/later {device}",
    }
    done = _shell(tree.root, MAC, [qos_unit.Port(MAC, 106)], **tools)
    assert (done.returncode, done.stderr) == (0, "")
    assert (configfs / "mlx5_0/ports/1/default_roce_tos").read_text() == "106\n"


def test_systemd_lets_the_script_wait_to_its_end() -> None:
    """Each second takes longer on a slow node, as the script looks at all ports."""
    port = qos_unit.Port(MAC, 106)
    [seconds] = re.findall(r"^left=([0-9]+)$", qos_unit.script_text([port]) or "", re.M)
    [limit] = re.findall(r"^TimeoutStartSec=([0-9]+)$", qos_unit.unit_text([port]) or "", re.M)
    assert int(limit) >= 2 * int(seconds)


def test_the_script_waits_where_a_directory_is_left_of_a_device_that_rdma_cm_does_not_know(tree: NodeTree) -> None:
    attribute = _configfs(tree) / "mlx5_0/ports/1/default_roce_tos"
    attribute.parent.mkdir(parents=True)
    # Refuses what is written, as configfs does then.
    attribute.symlink_to("/dev/full")
    done = _shell(tree.root, MAC, [qos_unit.Port(MAC, 106)], sleep=f"rm -f {attribute}; : >{attribute}")
    assert (done.returncode, attribute.is_symlink()) == (0, False)
    assert attribute.read_text() == "106\n"


def test_the_script_follows_a_device_that_is_renamed_meanwhile(tree: NodeTree) -> None:
    configfs = _configfs(tree)
    devices = tree.root / "sys/class/infiniband"
    tools = {
        "mkdir": f'/bin/mkdir -p "$1/ports/1"; [ ! -e {devices}/mlx5_0 ] || mv {devices}/mlx5_0 {devices}/rocep129s0',
        "rmdir": 'rm -r "$1"',
    }
    done = _shell(tree.root, MAC, [qos_unit.Port(MAC, 106)], **tools)
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in configfs.iterdir()] == ["rocep129s0"]
    assert (configfs / "rocep129s0/ports/1/default_roce_tos").read_text() == "106\n"


def test_the_rule_starts_the_unit_for_the_port_alone(tree: NodeTree, driver: Driver) -> None:
    converge(tree, driver, ASKED)
    rules = (tree.root / qos_unit.UDEV_PATH.lstrip("/")).read_text().splitlines()
    assert rules[1:] == [
        f'ACTION!="remove", SUBSYSTEM=="net", ATTR{{address}}=="{MAC}", DRIVERS=="?*", TAG+="systemd", '
        f'ENV{{SYSTEMD_WANTS}}+="zerocopy-rdma-qos@{MAC}.service"'
    ]
