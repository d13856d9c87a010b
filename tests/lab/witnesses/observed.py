# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the facts say, under the keys the claims use."""

from __future__ import annotations

import ipaddress
from typing import Any, Dict, List, Optional


def gid_text(gid: str) -> str:
    """One spelling for GIDs, whoever prints them."""
    return ipaddress.IPv6Address(gid).exploded


def _flat_pci(prefix: str, pci: Optional[Dict[str, Any]], out: Dict[str, Any]) -> None:
    names = ("address", "vendor_id", "device_id", "class_id", "driver", "numa_node", "pcie_root", "pcie_path")
    for name in names:
        out[f"{prefix} {name}"] = pci[name] if pci else None


def _flat_netdev(prefix: str, netdev: Optional[Dict[str, Any]], out: Dict[str, Any]) -> None:
    if netdev is None:
        out[f"{prefix} netdev"] = None
        return
    out[f"{prefix} netdev"] = netdev["name"]
    for name in ("state", "carrier", "mac", "mtu", "max_mtu", "master", "bond"):
        out[f"{prefix} netdev_{name}"] = netdev[name]
    out[f"{prefix} netdev_addresses"] = sorted(netdev["addresses"])


def _flat_device_node(device: Optional[Dict[str, Any]], out: Dict[str, Any]) -> None:
    if device and device["present"]:
        out[f"{device['path']} device_number"] = device["number"]


def _flat_port(prefix: str, port: Dict[str, Any], out: Dict[str, Any]) -> None:
    for name in ("state", "link_layer", "rate_gbps", "lid", "sm_lid", "roce_v2_gid_index"):
        out[f"{prefix} {name}"] = port[name]
    out[f"{prefix} physical_state"] = (port["physical_state"] or "").upper().replace("_", "")
    out[f"{prefix} gids"] = [[gid["index"], gid_text(gid["gid"]), gid["type"]] for gid in port["gids"]]
    for gid in port["gids"]:
        out[f"{prefix} gid {gid['index']} gid_netdev"] = gid["netdev"]
    _flat_device_node(port["umad"], out)
    _flat_netdev(prefix, port["netdev"], out)


def _flat_hca(hca: Dict[str, Any], out: Dict[str, Any]) -> None:
    name = hca["name"]
    for attribute in ("node_type", "node_guid", "firmware"):
        out[f"{name} {attribute}"] = hca[attribute]
    out[f"{name} ports"] = [port["number"] for port in hca["ports"]]
    out[f"{name} uverbs"] = hca["uverbs"]["name"] if hca["uverbs"] else None
    _flat_device_node(hca["uverbs"], out)
    for attribute in ("role", "num_vfs", "pf_address"):
        out[f"{name} sriov_{attribute}"] = hca["sriov"][attribute]
    link = hca["pcie_link"] or {}
    for attribute in ("speed_gts", "width", "max_speed_gts", "max_width"):
        out[f"{name} {attribute}"] = link.get(attribute)
    _flat_pci(name, hca["pci"], out)
    for port in hca["ports"]:
        _flat_port(f"{name}/{port['number']}", port, out)


def flatten(facts: Dict[str, Any]) -> Dict[str, Any]:
    """Turn the facts of one node into key and value."""
    out: Dict[str, Any] = {
        "hcas": sorted(hca["name"] for hca in facts["hcas"]),
        "gpus": [gpu["pci"]["address"] for gpu in facts["gpus"]],
        "system netns_mode": facts["system"]["netns_mode"],
        "system kernel": facts["system"]["kernel"],
        "system numa_nodes": facts["system"]["numa_nodes"],
    }
    for name, state in facts["system"]["modules"].items():
        out[f"system module {name}"] = state
    for bridge, redirects in facts["system"]["acs"].items():
        out[f"{bridge} acs"] = redirects
    for hca in facts["hcas"]:
        _flat_hca(hca, out)
    for gpu in facts["gpus"]:
        _flat_pci(f"gpu {gpu['pci']['address']}", gpu["pci"], out)
    for entry in facts["affinity"]:
        for hca_name, path_class in entry["paths"].items():
            out[f"gpu {entry['address']} to {hca_name} path_class"] = path_class
    _flat_selection(facts, out)
    return out


def _flat_selection(facts: Dict[str, Any], out: Dict[str, Any]) -> None:
    for entry in facts["usable"]:
        codes: List[str] = []
        out[f"{entry['hca']}/{entry['port']} excluded"] = codes
    for entry in facts["excluded"]:
        out[f"{entry['hca']}/{entry['port']} excluded"] = sorted(reason["code"] for reason in entry["reasons"])
