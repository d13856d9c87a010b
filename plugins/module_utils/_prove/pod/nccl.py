# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which network NCCL, or RCCL, says that it uses.

It says so with ``NCCL_DEBUG=INFO`` (src/init.cc, src/transport/net_ib.cc or net_ib/init.cc, net_socket.cc): a process
lists the devices of a network when it first tries it, and ``Using network`` what it took, once for each communicator.
Each line has host, process and thread, whatever others put before them. That it took RDMA says nothing about whether
connections are made, so that its warnings about them count more (src/misc/ibvwrap.cc, src/transport/net_ib).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check
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
# Only what ends a run: a refused device is left out by NCCL, and of a retry it tells with INFO.
_FAILED = re.compile(
    r"(?<![\w.-])(?P<host>[\w.-]{1,253}):[0-9]{1,10}:[0-9]{1,10} \[-?[0-9]{1,4}\] [\w./-]{1,99}:[0-9]{1,6} NCCL WARN "
    r"(?:Call to (?P<call>ibv_(?:modify_qp|query_gid|create_qp|create_cq|alloc_pd|reg_mr\w{0,16}|reg_dmabuf_mr"
    r"|post_(?:send|recv))) failed(?P<why> with [\w ]{1,80})?"
    r"(?:,? on dev (?P<device>[\w.+-]{1,64}:[0-9]{1,3}))?"
    r"(?:[^\r\n]{0,120}?local GID {1,2}(?P<local>[0-9a-f:.]{2,45}), {1,2}remote GID {1,2}(?P<remote>[0-9a-f:.]{2,45}))?"
    r"|NET/[\w/-]{1,32} ?: Got completion (?:from peer (?P<peer>[^\s]{1,64}) )?with "
    r"(?:error |status=)(?:[A-Z_]{1,40}\()?(?P<status>[0-9]{1,3})"
    r"|NET/[\w/-]{1,32} ?: (?P<lost>[\w.+-]{1,64}:[0-9]{1,3}) (?:(?:Got )?async fatal event"
    # As libibverbs names them, where NCCL does not say yet which of its events are fatal.
    r"|Got async event : (?:CQ error|[a-z ]{0,40}(?:catastrophic error|work queue error))))"
)
_GPUDIRECT = re.compile(
    r"(?<![\w.-])(?P<host>[\w.-]{1,253}):(?P<process>[0-9]{1,10}):[0-9]{1,10} \[-?[0-9]{1,4}\] NCCL INFO "
    r"NET/[\w-]{1,32} ?: GPU Direct RDMA (?P<on>Enabled|Disabled) for "
    r"(?P<what>HCA [0-9]{1,4} '[\w.:+-]{1,64}'|GPU [\w.:-]{1,32})"
)
_OF_LIBIBVERBS = re.compile(
    r"libibverbs: Warning: (?:Driver (?P<driver>[\w-]{1,32}) does not support the kernel ABI of (?P<kernel>[0-9]{1,5}) "
    r"\(supports (?P<least>[0-9]{1,5}) to (?P<most>[0-9]{1,5})\) for device (?P<device>[\w./-]{1,99})"
    r"|(?P<none>no userspace device-specific driver found) for)"
)
# The end of a run of nccl-tests or rccl-tests, whatever mpirun puts before it.
_RESULT = re.compile(
    r"# (?:Out of bounds values\s{1,9}: (?P<wrong>[0-9]{1,12}) FAILED"
    r"|Avg bus bandwidth\s{1,9}: (?P<bandwidth>[0-9]{1,9}(?:\.[0-9]{1,9})?))"
)
# What ends a run although NCCL says nothing of RDMA: its sockets (src/misc/socket.cc), nccl-tests and rccl-tests
# (src/common.h), PyTorch (NCCLUtils.cpp, ProcessGroupNCCL.cpp) and vLLM (pynccl_wrapper.py). INFO tells of retries.
_ENDED = re.compile(
    r"NCCL WARN (?P<socket>socket\w{1,40}: (?:[Cc]onnect to \S{1,64} (?:failed|returned)|exceeded )[^\r\n]{0,100})"
    r"|(?P<other>Test (?:NCCL|RCCL|CUDA|HIP) failure [^\r\n]{1,160}"
    r"|Watchdog caught collective operation timeout"
    r"|(?:DistBackendError|RuntimeError): NCCL error[^\r\n]{0,120}"
    r"|nccl(?:Unhandled\w{1,16}|System|Internal|Remote)Error: )"
)
_TCP = "Socket"
_FLUSHED, _NO_ANSWER = 5, 12
_ABOUT_THE_PEER = ("ibv_modify_qp", "ibv_query_gid")
_CONNECT = (
    "Check that both ends have GIDs of one network or a route between them (verify's reachability), and start the "
    "containers with rdma-env.sh instead of setting NCCL_IB_GID_INDEX, NCCL_IB_HCA or NCCL_IB_TC by hand."
)
_MEMORY = (
    "Raise the runtime's limit of locked memory (rdma_runtime_memlock), or add the capability IPC_LOCK to the pod."
)
_LOST = "Look for faults of this HCA in verify's host ring (host.kernel_log), and at its cable and switch port."
_COMPLETION = "Read the log of the peer: its first error is the cause. Check the links and counters of both hosts."
_REACH = (
    "Check that the pods reach each other over the network that NCCL_SOCKET_IFNAME names, by default that of the pods: "
    "NCCL connects over TCP first."
)
_FIRST = "Find the rank that failed first in the logs of all pods of this run: its message is the cause."
_NO_GPUDIRECT = (
    "Load nvidia_peermem on the node, or use a kernel and an open GPU driver with dma-buf (see gpudirect in the node's "
    "facts): otherwise all data goes through host memory. A GPU without GPUDirect, as in DGX Spark, has no remedy."
)
_REMEDIES = {
    "Driver": "Update rdma-core (libibverbs1 and ibverbs-providers) in the image: it has to fit the node's kernel.",
    "no userspace": "Install ibverbs-providers in the image.",
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


@dataclass
class Failure:
    """What NCCL could not do with RDMA that it uses, and what to do about it."""

    host: str
    text: str
    remedy: str
    evidence: Dict[str, str] = field(default_factory=dict)


def failure(log: str) -> Optional[Failure]:
    """The first failure of a connection. What is flushed after another one only follows from it."""
    first: Optional[Failure] = None
    for said in _FAILED.finditer(_COLOUR.sub("", log)):
        known = {name: value for name, value in said.groupdict().items() if value and name not in ("host", "why")}
        if said["call"]:
            on = f" on {said['device']}" if said["device"] else ""
            ends = f", from {said['local']} to {said['remote']}" if said["remote"] else ""
            text = f"{said['call']} failed{said['why'] or ''}{on}{ends}"
            remedy = _CONNECT if said["call"] in _ABOUT_THE_PEER else _MEMORY
        elif said["lost"]:
            text, remedy = f"a fatal event of {said['lost']}", _LOST
        elif int(said["status"]) == _NO_ANSWER:
            text, remedy = f"{said['peer'] or 'a peer'} does not answer (status 12)", _CONNECT
        else:
            text, remedy = f"a transfer with {said['peer'] or 'a peer'} failed (status {said['status']})", _COMPLETION
        found = Failure(said["host"], text, remedy, known)
        if said["status"] != str(_FLUSHED):
            return found
        first = first or found
    return first


def ended(log: str) -> Optional[Failure]:
    """What ended a run, apart from connections over RDMA; its evidence has ``again`` if another one has begun since."""
    plain = _COLOUR.sub("", log)
    found = list(_ENDED.finditer(plain))
    if not found:
        return None
    # What comes first is the cause of the others.
    said = found[0]["socket"] or found[0]["other"]
    again = any(each["network"] and each.start() > found[-1].end() for each in _SAID.finditer(plain))
    text, remedy = said.rstrip(" .:"), _REACH if found[0]["socket"] else _FIRST
    return Failure("", text, remedy, {"said": text, **({"again": "yes"} if again else {})})


def without_gpudirect(log: str) -> List[str]:
    """The HCAs, or in old versions GPUs, that a process has to reach through host memory."""
    enabled: Dict[Tuple[str, str, str], bool] = {}
    for said in _GPUDIRECT.finditer(_COLOUR.sub("", log)):
        key = said["host"], said["process"], said["what"]
        enabled[key] = enabled.get(key, False) or said["on"] == "Enabled"
    # NCCL's number of an HCA says nothing beside its name.
    names = {what.split("'")[1] if "'" in what else what for (_host, _process, what), on in enabled.items() if not on}
    return sorted(names, key=natural_key)


def _of_libibverbs(log: str) -> str:
    """Why libibverbs leaves a device out; one that its provider is too old for is named."""
    for said in _OF_LIBIBVERBS.finditer(log):
        if said["none"]:
            return str(said["none"])
        device = said["device"].rpartition("/")[2]
        supports = said["most"] if said["least"] == said["most"] else f"{said['least']} to {said['most']}"
        return (
            f"Driver {said['driver']} of the image's libibverbs supports the kernel ABI {supports}, {device} has "
            f"{said['kernel']}"
        )
    return ""


def read(log: str) -> Tuple[List[Communicator], str]:
    """The communicators, and why the first process that says so has no RDMA."""
    devices: Dict[Tuple[str, ...], Set[str]] = {}
    tried: Dict[Tuple[str, ...], Communicator] = {}
    latest: Dict[Tuple[str, ...], Communicator] = {}
    found: List[Communicator] = []
    why = none = ""
    for said in _SAID.finditer(_COLOUR.sub("", log)):
        thread = said.group("host", "process", "thread")
        own = devices.setdefault(thread[:2], set())
        if not why and not none:
            why, none = said["why"] or "", said["none"] or ""
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
    return [*found, *tried.values()], why or _of_libibverbs(log) or none


def _measured(log: str) -> Tuple[str, str]:
    """What a run of nccl-tests says at its end: how many values were wrong, and the average of its bus bandwidths."""
    found = [said.groupdict() for said in _RESULT.finditer(log)]
    wrong = next((said["wrong"] for said in found if said["wrong"]), "")
    return wrong, next((said["bandwidth"] for said in reversed(found) if said["bandwidth"]), "")


def check(pod: str, host: Optional[str], group: Optional[str], log: Optional[str]) -> Optional[Check]:
    """The check of one pod (namespace/name), if its log says anything of NCCL's network."""
    found, why = read(log or "")
    failed = failure(log or "")
    stopped = ended(log or "")
    wrong, bandwidth = _measured(log or "")
    if not found and not failed and not stopped and not wrong:
        return None
    tcp = [link for link in found if link.tcp]
    rdma = [link for link in found if link.rdma]
    devices = sorted(set().union(*(link.devices for link in rdma)), key=natural_key)
    evidence: Dict[str, Any] = {"communicators": len(found), "tcp": len(tcp), "devices": devices}

    def made(verdict: str, text: str, remedy: str = "") -> Check:
        return Check("pod", "pod.nccl", host, group, pod, verdict, f"{pod}: {text}", evidence, remedy)

    if failed:
        evidence["failure"] = failed.evidence
        return made("fail", f"NCCL cannot use RDMA on {failed.host}: {failed.text}", failed.remedy)
    if tcp:
        part = "" if len(tcp) == len(found) else f" in {len(tcp)} of {len(found)} communicators"
        hosts = fold(link.host for link in tcp)
        on = f" on {hosts}" if len({link.host for link in found}) > 1 else ""
        remedy = next((text for start, text in _REMEDIES.items() if why.startswith(start)), _REMEDIES["No device"])
        text = f"NCCL uses TCP{part}{on}" + (f" ({why})" if why else "")
        return made("fail", text, f"{remedy} With NCCL_NET=IB, NCCL fails instead.")
    staged = without_gpudirect(log or "")
    if rdma and staged:
        evidence["without_gpudirect"] = staged
        return made("fail", f"NCCL uses RDMA without GPUDirect ({', '.join(staged)})", _NO_GPUDIRECT)
    if wrong:
        text = f"nccl-tests found {wrong} wrong values, although NCCL reports no error"
        return made(
            "fail", text, "Test the GPUs and their memory, and with NCCL_NET_GDR_LEVEL=LOC the path without them."
        )
    if stopped:
        evidence["failure"] = stopped.evidence
        if "again" in stopped.evidence:
            return made("warn", f"NCCL failed, and was set up again since: {stopped.text}", stopped.remedy)
        return made("fail", f"NCCL failed: {stopped.text}", stopped.remedy)
    if rdma:
        evidence.update({"bus_bandwidth": bandwidth} if bandwidth else {})
        measured = f", with {bandwidth} GB/s of bus bandwidth on average" if bandwidth else ""
        return made("pass", f"NCCL uses RDMA ({', '.join(devices) or 'the log does not name the devices'}){measured}")
    others = sorted({link.network for link in found if link.network != _TCP})
    if others:
        return made("impossible", f"NCCL uses {', '.join(others)}, and its log does not say whether that is RDMA")
    return made("impossible", "NCCL found no RDMA device, but needs no network: its communicators are within one node")
