# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which network NCCL, or RCCL, says that it uses.

It says so with ``NCCL_DEBUG=INFO`` (src/init.cc, src/transport/net_ib.cc or net_ib/init.cc, net_socket.cc): a process
lists the devices of a network when it first tries it, and ``Using network`` what it took, once for each communicator.
Each line has host, process and thread, whatever others put before them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold, natural_key

_COLOUR = re.compile(r"\x1b\[[0-9;]{0,16}m")
_DEVICE = re.compile(r"[\w.+-]{1,64}:[0-9]{1,3}/[A-Za-z]{2,16}")
# Ports that NCCL merges are listed as "[0]={[0] mlx5_0:1/IB, [1] mlx5_1:1/IB}". Devices of NET/Socket have no "/".
_LIST = rf"(?:[ ,]{{0,2}}(?:\[[0-9]{{1,3}}\]={{)?\[[0-9]{{1,3}}\] ?{_DEVICE.pattern}(?:/SHARP)?}}?)*"
# Not by lines: where several processes write at once, one line may hold what several of them say.
_SAID = re.compile(
    r"(?<![\w.-])(?P<host>[\w.-]{1,253}):(?P<process>[0-9]{1,10}):(?P<thread>[0-9]{1,10}) \[-?[0-9]{1,4}\] NCCL INFO "
    r"(?:Using network (?P<network>AWS Libfabric|[\w.-]{1,63})"
    rf"|NET/(?P<tried>[\w-]{{1,32}}) ?: (?:(?P<none>No device found)|Using(?P<devices>{_LIST}))"
    r"|comm 0x[0-9a-f]{1,16} rank [0-9]{1,9} nRanks [0-9]{1,9} nNodes (?P<nodes>[0-9]{1,9})"
    r"|(?P<why>Failed to open libibverbs|NCCL_IB_DISABLE set by environment to [1-9]"
    r"|NCCL_NET set by environment to Socket))"
)
_TCP = "Socket"
_REMEDIES = {
    "No device": "Request RDMA in the container's resources, and start it with rdma-env.sh, which sets NCCL_IB_HCA "
    "unless the pod does, and refuses to start without RDMA.",
    "Failed": "Install libibverbs1 and ibverbs-providers in the image.",
    "NCCL_IB_DISABLE": "Remove NCCL_IB_DISABLE from the pod.",
    "NCCL_NET": "Remove NCCL_NET from the pod, or set it to IB.",
}


@dataclass
class Communicator:
    """What one rank of a communicator uses; ``nodes`` is 0 where the log does not say over how many it extends."""

    host: str
    network: str
    devices: Set[str]
    nodes: int = 0

    @property
    def tcp(self) -> bool:
        """Within a node, no network is used."""
        return self.network == _TCP and self.nodes != 1

    @property
    def rdma(self) -> bool:
        return self.network != _TCP and bool(self.devices or self.network.startswith("IB"))


def read(log: str) -> Tuple[List[Communicator], str]:
    """The communicators, and why the first process that says so has no RDMA."""
    devices: Dict[Tuple[str, ...], Set[str]] = {}
    tried: Dict[Tuple[str, ...], Communicator] = {}
    latest: Dict[Tuple[str, ...], Communicator] = {}
    found: List[Communicator] = []
    why = ""
    for said in _SAID.finditer(_COLOUR.sub("", log)):
        thread = said.group("host", "process", "thread")
        own = devices.setdefault(thread[:2], set())
        why = why or said["why"] or said["none"] or ""
        if said["network"]:
            tried.pop(thread, None)
            latest[thread] = Communicator(said["host"], said["network"], own)
            found.append(latest[thread])
        elif said["nodes"] and thread in latest:
            latest[thread].nodes = int(said["nodes"])
        elif said["tried"]:
            own.update(_DEVICE.findall(said["devices"] or ""))
            # NCCL 2.28 writes "NET/IB : Using" even where it has no device.
            if said["devices"] or said["tried"] in ("IB", _TCP):
                tried[thread] = Communicator(said["host"], said["tried"] if said["devices"] else _TCP, own)
    # Of these, the log does not have what was taken in the end.
    return [*found, *tried.values()], why


def check(pod: str, host: Optional[str], group: Optional[str], log: Optional[str]) -> Optional[Check]:
    """The check of one pod (namespace/name), if its log says anything of NCCL's network."""
    found, why = read(log or "")
    if not found:
        return None
    tcp = [link for link in found if link.tcp]
    rdma = [link for link in found if link.rdma]
    devices = sorted(set().union(*(link.devices for link in rdma)), key=natural_key)
    evidence: Dict[str, Any] = {"communicators": len(found), "tcp": len(tcp), "devices": devices}

    def made(verdict: str, text: str, remedy: str = "") -> Check:
        return Check("pod", "pod.nccl", host, group, pod, verdict, f"{pod}: {text}", evidence, remedy)

    if tcp:
        part = "" if len(tcp) == len(found) else f" in {len(tcp)} of {len(found)} communicators"
        hosts = fold(link.host for link in tcp)
        on = f" on {hosts}" if len({link.host for link in found}) > 1 else ""
        remedy = next((text for start, text in _REMEDIES.items() if why.startswith(start)), _REMEDIES["No device"])
        text = f"NCCL uses TCP{part}{on}" + (f" ({why})" if why else "")
        return made("fail", text, f"{remedy} With NCCL_NET=IB, NCCL fails instead.")
    if rdma:
        return made("pass", f"NCCL uses RDMA ({', '.join(devices) or 'the log does not name the devices'})")
    others = sorted({link.network for link in found if link.network != _TCP})
    if others:
        return made("impossible", f"NCCL uses {', '.join(others)}, and its log does not say whether that is RDMA")
    return made("impossible", "NCCL found no RDMA device, but needs no network: its communicators are within one node")
