# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""sys/class/infiniband*, dev/infiniband and what the RDMA core says about ports."""

from __future__ import annotations

from dataclasses import dataclass

from . import identity, models
from .gids import Entry, gid_table
from .place import Function
from .spec import Description, HcaSpec, PortSpec
from .stack import Netdev, link_layer, node_guid
from .system import present_modules
from .tree import Content, Tree

COUNTERS = [
    "VL15_dropped",
    "excessive_buffer_overrun_errors",
    "link_downed",
    "link_error_recovery",
    "local_link_integrity_errors",
    "port_rcv_constraint_errors",
    "port_rcv_data",
    "port_rcv_errors",
    "port_rcv_packets",
    "port_rcv_remote_physical_errors",
    "port_rcv_switch_relay_errors",
    "port_xmit_constraint_errors",
    "port_xmit_data",
    "port_xmit_discards",
    "port_xmit_packets",
    "port_xmit_wait",
    "symbol_error",
]
HW_COUNTERS = [
    "duplicate_request",
    "implied_nak_seq_err",
    "local_ack_timeout_err",
    "np_cnp_sent",
    "np_ecn_marked_roce_packets",
    "out_of_buffer",
    "out_of_sequence",
    "packet_seq_err",
    "req_cqe_error",
    "resp_cqe_error",
    "rnr_nak_retry_err",
    "roce_adp_retrans",
    "rp_cnp_handled",
    "rx_icrc_encapsulated",
]
UVERBS_MAJOR, UVERBS_MINOR, ISSM_MINOR, RDMA_CM = 231, 192, 64, "10:121"


@dataclass
class Numbers:
    """uverbs count devices, umad and issm count ports, both over the whole node."""

    uverbs: int = 0
    umad: int = 0


def write_rdma(node: Description, devices: dict[str, Netdev], functions: list[Function], tree: Tree) -> None:
    loaded = present_modules(node)
    by_name = {function.name: function for function in functions}
    numbers = Numbers()
    for name, hca in node.hcas.items():
        function = by_name.get(name)
        base = function.path if function else "sys/devices/virtual"
        _write_device(node, name, hca, base, function, tree)
        for number, port in enumerate(hca.ports, 1):
            where = f"{base}/infiniband/{name}/ports/{number}"
            _write_port(node, name, number, port, where, tree)
            _write_gids(node, name, number, where, gid_table(node, devices, name, number), tree)
        _write_char_devices(name, len(hca.ports), base, function, loaded, numbers, tree)
    if node.hcas and "ib_uverbs" in loaded:
        tree.file("sys/class/infiniband_verbs/abi_version", 6)
    if node.hcas and "ib_umad" in loaded:
        tree.file("sys/class/infiniband_mad/abi_version", 5)
    if "rdma_ucm" in loaded:
        tree.file("sys/devices/virtual/misc/rdma_cm/dev", RDMA_CM)
        tree.file("sys/devices/virtual/misc/rdma_cm/abi_version", 4)
        tree.link("sys/class/misc/rdma_cm", "sys/devices/virtual/misc/rdma_cm")
        tree.file("dev/infiniband/rdma_cm", b"")


def _model(node: Description, hca: HcaSpec) -> models.HcaModel:
    return models.HCAS[node.hcas[hca.vf_of].model if hca.vf_of else hca.model]


def _write_device(node: Description, name: str, hca: HcaSpec, base: str, function: Function | None, tree: Tree) -> None:
    path = f"{base}/infiniband/{name}"
    values: dict[str, Content] = {
        "node_type": "4: RNIC" if hca.model == "siw" else "1: CA",
        "node_guid": node_guid(node, name),
        "sys_image_guid": node_guid(node, hca.vf_of or name),
        "node_desc": f"{node.host} {name}",
        "uevent": f"NAME={name}",
    }
    if hca.above:
        values["fw_ver"] = ""
        if hca.model == "rxe":
            values["parent"] = hca.above
    else:
        model = _model(node, hca)
        values.update(fw_ver=model.firmware, hw_rev="0")
        device = function.part.device if function else model.part.device
        # Only NVIDIA's adapters have a PSID.
        values.update({"board_id": model.psid, "hca_type": f"MT{device}"} if model.psid else {"hca_type": "BCM57608"})
    tree.attrs(path, values)
    tree.link(f"{path}/subsystem", "sys/class/infiniband")
    tree.link(f"sys/class/infiniband/{name}", path)
    if function:
        tree.link(f"{path}/device", function.path)


def _write_port(node: Description, name: str, number: int, port: PortSpec, where: str, tree: Tree) -> None:
    hca = node.hcas[name]
    layer = link_layer(node, name, number)
    infiniband = layer == "InfiniBand"
    down = port.state in ("DOWN", "NOP")
    if down:
        # What mlx5 reports for a port that never trained.
        rate: float = port.rate or (10 if infiniband else 40)
    else:
        rate = port.rate or (2.5 if hca.above else _model(node, hca).rate)
    physical = port.phys_state or ("LinkUp" if not down else "Polling" if infiniband else "Disabled")
    managed = infiniband and port.state in ("ARMED", "ACTIVE")
    lid = (
        port.lid
        if port.lid is not None
        else (
            16 + int(identity.digest(node.host, name, str(number), "lid")[:3], 16)
            if managed
            else 0xFFFF
            if infiniband and down
            else 0
        )
    )
    manager = port.sm_lid if port.sm_lid is not None else int(managed)
    tree.attrs(
        where,
        {
            "state": f"{models.STATES[port.state]}: {port.state}",
            "phys_state": f"{models.PHYS_STATES[physical]}: {physical}",
            "link_layer": layer,
            "rate": models.RATES[layer][rate],
            "lid": f"0x{lid:x}",
            "lid_mask_count": 0,
            "sm_lid": f"0x{manager:x}",
            "sm_sl": 0,
            "cap_mask": "0xa651e848" if infiniband else "0x00010000",
        },
    )
    # Both tables are longer in reality (128 P_Keys, 255 GIDs); unused entries only cost time here.
    keys = 8 if infiniband and not hca.vf_of else 1
    for index in range(keys):
        tree.file(f"{where}/pkeys/{index}", "0xffff" if index == 0 else "0x0000")
    if hca.above:
        return
    traffic = 0 if down else int(identity.digest(node.host, name, str(number))[:8], 16)
    basic = {key: traffic if key.endswith(("_data", "_packets")) else 0 for key in COUNTERS}
    hardware = dict.fromkeys(HW_COUNTERS, 0)
    for key, value in port.counters.items():
        (hardware if key in hardware else basic)[key] = value
    tree.attrs(f"{where}/counters", dict(basic))
    tree.attrs(f"{where}/hw_counters", dict(hardware))


def _write_gids(node: Description, name: str, number: int, where: str, entries: list[Entry], tree: Tree) -> None:
    size = 8 if link_layer(node, name, number) == "InfiniBand" else 16
    zero = ":".join(["0000"] * 8)
    for index in range(size):
        tree.file(f"{where}/gids/{index}", zero)
    tree.directory(f"{where}/gid_attrs/ndevs")
    for index, entry in enumerate(entries):
        tree.file(f"{where}/gids/{index}", entry.gid)
        tree.file(f"{where}/gid_attrs/types/{index}", entry.type)
        if entry.netdev:
            tree.file(f"{where}/gid_attrs/ndevs/{index}", entry.netdev)


def _write_char_devices(
    name: str, ports: int, base: str, function: Function | None, loaded: set[str], numbers: Numbers, tree: Tree
) -> None:
    def add(kind: str, device: str, minor: int, attrs: dict[str, Content]) -> None:
        path = f"{base}/{kind}/{device}"
        number = f"{UVERBS_MAJOR}:{minor}"
        major, low = number.split(":")
        uevent = f"MAJOR={major}\nMINOR={low}\nDEVNAME=infiniband/{device}"
        tree.attrs(path, {"dev": number, "ibdev": name, "uevent": uevent, **attrs})
        tree.link(f"{path}/subsystem", f"sys/class/{kind}")
        tree.link(f"sys/class/{kind}/{device}", path)
        if function:
            tree.link(f"{path}/device", function.path)
        tree.file(f"dev/infiniband/{device}", b"")

    if "ib_uverbs" in loaded:
        add("infiniband_verbs", f"uverbs{numbers.uverbs}", UVERBS_MINOR + numbers.uverbs, {"abi_version": 1})
        numbers.uverbs += 1
    if "ib_umad" in loaded:
        for port in range(1, ports + 1):
            add("infiniband_mad", f"umad{numbers.umad}", numbers.umad, {"port": port})
            add("infiniband_mad", f"issm{numbers.umad}", ISSM_MINOR + numbers.umad, {"port": port})
            numbers.umad += 1
