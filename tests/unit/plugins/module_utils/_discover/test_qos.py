# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Quality of service of ports: answers of DCB netlink, most of them synthesised, and files of RoCE."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
from pathlib import Path
from typing import Any, Iterator, List, Optional

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import dcb, gather, netlink, qos
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import model
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.qos import Buffers, Congestion, Qos
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._discover.dcb_message import (
    CONNECTX,
    PRIORITIES,
    message,
)

_DSCP, _PCP, _ETHERTYPE = 5, 255, 1


def test_all_settings_of_a_connectx() -> None:
    found = dcb.interpret("ens1np0", message(**CONNECTX))
    assert (found.netdev, found.dcb, found.managed_by, found.trust) == ("ens1np0", "offered", "host", "dscp")
    assert found.dscp == PRIORITIES
    assert found.pfc == [3]
    assert found.ets is not None
    assert found.ets.traffic_classes == [1, 0, 2, 3, 4, 5, 6, 7]
    assert (found.ets.algorithms, found.ets.bandwidth) == (["vendor"] * 8, [100] * 8)
    assert found.buffers == Buffers([0, 0, 0, 1, 0, 0, 0, 0], [20352, 242176, 0, 0, 0, 0, 0, 0])
    assert (found.pauses_sent, found.pauses_received) == ([0, 0, 0, 12] + [0] * 4, [0, 0, 0, 1 << 40] + [0] * 4)


def test_algorithms_have_the_names_of_the_standard() -> None:
    found = dcb.interpret("a", message(ets={"tc_tsa": [0, 1, 2, 255, 9], "tc_tx_bw": [0, 0, 50]}))
    assert found.ets is not None
    assert found.ets.algorithms[:5] == ["strict", "cb_shaper", "ets", "vendor", "vendor"]


@pytest.mark.parametrize(
    ("apps", "trust", "expected"),
    [
        # Linux before 6.2, and drivers without a table of trust.
        ([], None, "pcp"),
        ([(_ETHERTYPE, 3, 0x8915)], None, "pcp"),
        ([(_DSCP, 3, 26)], None, "dscp"),
        # With one it alone counts, in its order.
        ([(_DSCP, 3, 26)], [_PCP], "pcp"),
        ([], [_DSCP, _PCP], "dscp"),
        ([], [_PCP, _DSCP], "pcp"),
        ([(_DSCP, 3, 26)], [], "none"),
    ],
)
def test_what_is_trusted(apps: Any, trust: Optional[List[int]], expected: str) -> None:
    assert dcb.interpret("a", message(pfc={}, apps=apps, trust=trust)).trust == expected


def test_of_several_priorities_of_a_dscp_the_highest_counts() -> None:
    found = dcb.interpret("a", message(pfc={}, apps=[(_DSCP, 5, 26), (_DSCP, 3, 26), (_ETHERTYPE, 7, 26)]))
    assert found.dscp == [5 if dscp == 26 else 0 for dscp in range(64)]


@pytest.mark.parametrize(("dcbx", "expected"), [(0x05, "host"), (0x0A, "firmware"), (None, None)])
def test_who_manages_it(dcbx: Optional[int], expected: Optional[str]) -> None:
    assert dcb.interpret("a", message(pfc={}, dcbx=dcbx)).managed_by == expected


def test_what_a_driver_does_not_offer_is_none() -> None:
    found = dcb.interpret("a", message(ets={}))
    assert (found.dcb, found.pfc, found.buffers, found.pauses_sent) == ("offered", None, None, None)
    # An answer without any of IEEE 802.1Qaz.
    assert dcb.interpret("a", message()) == Qos(netdev="a", dcb="not_offered")


def test_an_answer_that_is_cut_breaks_nothing() -> None:
    whole = message(**CONNECTX)
    for length in range(16, len(whole)):
        assert dcb.interpret("a", whole[:length]).dcb in ("offered", "not_offered")


@pytest.fixture
def route() -> Iterator[socket.socket]:
    with netlink.open_socket(dcb.NETLINK_ROUTE) as sock:
        yield sock


def test_the_kernel_takes_the_request(route: socket.socket) -> None:
    # A request of another form would be EINVAL.
    assert dcb.read(route, "lo") == Qos(netdev="lo", dcb="not_offered")
    assert dcb.read(route, "nosuchnetdev") == Qos(netdev="nosuchnetdev", dcb="away")


def test_every_other_refusal_is_not_taken_for_a_driver_without_dcb(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: Any) -> None:
        raise OSError(errno.EIO, "")

    monkeypatch.setattr(netlink, "ask", refuse)
    with socket.socket(socket.AF_UNIX) as sock:
        assert dcb.read(sock, "a").dcb == "refused"


def test_statistics_are_read_before_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: List[str] = []

    def ask(*_arguments: Any) -> List[bytes]:
        calls.append("dcb")
        return [message(**CONNECTX)]

    def ioctl(_descriptor: int, number: int, argument: bytes) -> None:
        assert (number, len(argument)) == (0x8946, 40)
        name, address = struct.unpack("16sP16x", argument)
        assert name.rstrip(b"\0") == b"ens1np0"
        command = ctypes.c_uint32.from_address(address).value
        if command == 0x37:
            # struct ethtool_sset_info: 300 statistics.
            ctypes.c_uint32.from_address(address + 16).value = 300
        else:
            assert command == 0x1D
            ctypes.memset(address + 8, 255, 300 * 8)
            calls.append("statistics")

    monkeypatch.setattr(netlink, "ask", ask)
    monkeypatch.setattr("fcntl.ioctl", ioctl)
    with socket.socket(socket.AF_UNIX) as sock:
        assert dcb.read(sock, "ens1np0").pfc == [3]
    assert calls == ["dcb", "statistics", "dcb"]


def _write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text + "\n")


def _hca(**netdev: Any) -> model.Hca:
    own = model.Netdev(name="ens1np0", source="gid", **netdev)
    pci = model.PciFunction("0000:17:00.0", "15b3", "1021", "020000")
    port = model.Port(1, link_layer="Ethernet", netdev=own)
    return model.Hca("mlx5_0", driver="mlx5_core", pci=pci, ports=[port])


def _qos(root: Path, hca: model.Hca) -> Qos:
    qos.attach(Tree(str(root)), [hca])
    found = hca.ports[0].qos
    assert found is not None
    return found


def test_files_of_nvidia_drivers(tmp_path: Path) -> None:
    for priority in range(8):
        _write(tmp_path, f"sys/class/net/ens1np0/ecn/roce_np/enable/{priority}", "1")
        _write(tmp_path, f"sys/class/net/ens1np0/ecn/roce_rp/enable/{priority}", str(int(priority == 3)))
    _write(tmp_path, "sys/class/net/ens1np0/ecn/roce_np/cnp_dscp", "48")
    _write(tmp_path, "sys/class/net/ens1np0/ecn/roce_np/cnp_802p_prio", "6")
    for name, value in {"np_cnp_sent": 4, "rp_cnp_handled": 5, "np_ecn_marked_roce_packets": 6}.items():
        _write(tmp_path, f"sys/class/infiniband/mlx5_0/ports/1/hw_counters/{name}", str(value))
    found = _qos(tmp_path, _hca())
    assert found.congestion == Congestion(list(range(8)), [3], 48, 6)
    assert (found.cnp_sent, found.cnp_handled, found.ecn_marked) == (4, 5, 6)
    # A recorded node is not asked what this machine has under that name.
    assert (found.dcb, found.pfc) == ("not_asked", None)


def test_debugfs_of_the_kernels_mlx5(tmp_path: Path) -> None:
    directory = "sys/kernel/debug/mlx5/0000:17:00.0/cc_params"
    _write(tmp_path, f"{directory}/np_cnp_dscp", "48")
    _write(tmp_path, f"{directory}/np_cnp_prio", "6")
    assert _qos(tmp_path, _hca()).congestion == Congestion(None, None, 48, 6)


@pytest.mark.parametrize("names", [("tx_cnp_pkts", "rx_cnp_pkts"), ("cnpSent", "cnpHandled")])
def test_other_drivers_counters(tmp_path: Path, names: Any) -> None:
    for number, name in enumerate(names):
        _write(tmp_path, f"sys/class/infiniband/mlx5_0/ports/1/hw_counters/{name}", str(number + 7))
    found = _qos(tmp_path, _hca())
    assert (found.cnp_sent, found.cnp_handled, found.ecn_marked) == (7, 8, None)


def test_type_of_service_is_read_only_where_somebody_made_its_directory(tmp_path: Path) -> None:
    (tmp_path / "sys/kernel/config/rdma_cm").mkdir(parents=True)
    assert _qos(tmp_path, _hca()).roce_tos is None
    assert os.listdir(tmp_path / "sys/kernel/config/rdma_cm") == []
    _write(tmp_path, "sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos", "106")
    assert _qos(tmp_path, _hca()).roce_tos == 106


def test_a_netdev_in_a_pod_is_away(tmp_path: Path) -> None:
    # One of the same name is somebody else's.
    _write(tmp_path, "sys/class/net/ens1np0/ecn/roce_np/cnp_dscp", "48")
    found = _qos(tmp_path, _hca(present=False))
    assert (found.dcb, found.congestion) == ("away", None)


def test_a_bond_is_asked_by_its_slave(tmp_path: Path) -> None:
    assert _qos(tmp_path, _hca(bond=True, slave="ens1f0np0")).netdev == "ens1f0np0"


def test_only_ethernet_ports_have_one(tmp_path: Path) -> None:
    hca = model.Hca("mlx5_1", ports=[model.Port(1, link_layer="InfiniBand")])
    qos.attach(Tree(str(tmp_path)), [hca])
    assert hca.ports[0].qos is None


def test_it_is_a_subset() -> None:
    assert "qos" in gather.subsets(["all"])
    assert "qos" not in gather.subsets(["!qos"])
