# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The witnesses for devices and ports: iproute2's ``rdma`` and rdma-core's ``ibv_devinfo``, and the device nodes."""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Dict, Iterator, List, Tuple

from .claim import Claim
from .observed import gid_text

Answers = Dict[str, str]


def port_netdevs(answers: Answers) -> Dict[Tuple[str, int], str]:
    """Map device and port to the netdev ``rdma link`` names."""
    links = json.loads(answers["rdma_link"])
    return {(link["ifname"], link["port"]): link["netdev"] for link in links if "netdev" in link}


def rdma_claims(answers: Answers) -> Iterator[Claim]:
    """What ``rdma dev``, ``rdma link`` and ``rdma system`` say."""
    devices = json.loads(answers["rdma_dev"])
    yield Claim("rdma dev", "hcas", sorted(device["ifname"] for device in devices))
    for device in devices:
        yield Claim("rdma dev", f"{device['ifname']} node_guid", device["node_guid"])
        yield Claim("rdma dev", f"{device['ifname']} node_type", device["node_type"].upper())
    ports: Dict[str, List[int]] = {}
    for link in json.loads(answers["rdma_link"]):
        name = f"{link['ifname']}/{link['port']}"
        ports.setdefault(link["ifname"], []).append(link["port"])
        yield Claim("rdma link", f"{name} state", link["state"])
        yield Claim("rdma link", f"{name} physical_state", link["physical_state"].replace("_", ""))
        yield Claim("rdma link", f"{name} netdev", link.get("netdev"))
    for device_name, numbers in ports.items():
        yield Claim("rdma link", f"{device_name} ports", sorted(numbers))
    mode = re.search(r'netns"?[ :"]+(\w+)', answers["rdma_system"])
    yield Claim("rdma system", "system netns_mode", mode.group(1) if mode else None)


# "active_width: 4X (2)" and "active_speed: 25.0 Gbps (32)": ibv_devinfo gives the rate of one lane.
_PORT_FIELDS: Dict[str, Callable[[str], Any]] = {
    "state": lambda text: text.split()[0].replace("PORT_", ""),
    "link_layer": lambda text: text,
    "port_lid": int,
    "sm_lid": int,
    "phys_state": lambda text: text.split()[0].replace("_", ""),
}
_FACT_NAMES = {"port_lid": "lid", "phys_state": "physical_state"}


def parse_ibv_devinfo(text: str) -> Dict[str, Dict[str, Any]]:
    """Map device to its fields; ``ports`` maps the port number to the port's fields and GIDs."""
    devices: Dict[str, Dict[str, Any]] = {}
    target: Dict[str, Any] = {}
    ports: Dict[int, Dict[str, Any]] = {}
    for line in text.splitlines():
        gid = re.match(r"\s*GID\[\s*(\d+)\]:\s*([^,\s]+)(?:,\s*(.+))?", line)
        if gid:
            target["gids"].append([int(gid.group(1)), gid_text(gid.group(2)), (gid.group(3) or "IB").strip()])
            continue
        name, _colon, value = (part.strip() for part in line.partition(":"))
        if name == "hca_id":
            ports = {}
            target = devices[value] = {"ports": ports}
        elif name == "port" and value.isdigit():
            target = ports[int(value)] = {"gids": []}
        elif value:
            target[name] = value
    return devices


def _rate(port: Dict[str, Any]) -> float:
    lanes = int(port["active_width"].split("X")[0])
    return lanes * float(port["active_speed"].split()[0])


def ibv_claims(answers: Answers) -> Iterator[Claim]:
    """What ``ibv_devinfo -v`` says."""
    devices = parse_ibv_devinfo(answers["ibv_devinfo"])
    yield Claim("ibv_devinfo", "hcas", sorted(devices))
    for name, device in devices.items():
        firmware = device.get("fw_ver")
        # The verbs library prints 0.0.0 where the kernel has an empty string.
        yield Claim("ibv_devinfo", f"{name} firmware", None if firmware in ("", "0.0.0") else firmware)
        yield Claim("ibv_devinfo", f"{name} node_guid", device["node_guid"])
        yield Claim("ibv_devinfo", f"{name} ports", sorted(device["ports"]))
        for number, port in device["ports"].items():
            prefix = f"{name}/{number}"
            for tool_name, convert in _PORT_FIELDS.items():
                key = f"{prefix} {_FACT_NAMES.get(tool_name, tool_name)}"
                yield Claim("ibv_devinfo", key, convert(port[tool_name]))
            yield Claim("ibv_devinfo", f"{prefix} rate_gbps", _rate(port))
            yield Claim("ibv_devinfo", f"{prefix} gids", port["gids"])


def device_node_claims(answers: Answers) -> Iterator[Claim]:
    """What ``ls -l`` shows in /dev/infiniband; udev's links there say which verbs node belongs to which device."""
    for major, minor, name in re.findall(r"^c\S+ .* (\d+), *(\d+) .* (\S+)$", answers["devices"], re.MULTILINE):
        if name.startswith(("uverbs", "umad")) and "-" not in name:
            yield Claim("ls -l", f"/dev/infiniband/{name} device_number", f"{major}:{minor}")
    for hca, node in re.findall(r"uverbs-(\S+) -> \.\./(\S+)$", answers["by_ibdev"], re.MULTILINE):
        yield Claim("/dev/infiniband/by-ibdev", f"{hca} uverbs", node)
