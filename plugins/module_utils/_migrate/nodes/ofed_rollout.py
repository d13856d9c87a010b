# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which nodes get or lose the OFED driver of the Network Operator, in which order, and which obstacles there are.

In each group without a node that has the driver, the first node is the canary: it goes alone, and no other node of the
fleet is touched before the canary has been watched.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Collection, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import reasons
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.read import GATHER_FIRST
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import waves as plan_waves
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes import ofed_probe
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes.use import NodeUse
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin import ofed
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin.objects import OPERATED
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import NO_NODE
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, by_host, messages
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import joined

# By its value the nodes with the driver have a policy of their own.
LABEL = registry.of_ofed().label
_DRIVER = "mlx5_core"
# By these labels the operator's DaemonSet finds nodes (manifests/state-ofed-driver).
_NFD = "feature.node.kubernetes.io/"
_NIC = _NFD + "pci-15b3.present"
_NEEDED = (_NIC, ofed.KERNEL, _NFD + "system-os_release.ID", _NFD + "system-os_release.VERSION_ID")
# What the container does not unload: storage over RDMA, unless it is told to, and other vendors' RDMA drivers, which
# use the ib_core that it replaces (docs/mofed-container-env-vars.md). It gives up where nvidia_peermem is in use.
_STORAGE = ("ib_iser", "ib_isert", "ib_srp", "ib_srpt", "nvme_rdma", "nvmet_rdma", "rpcrdma", "xprtrdma")
_OTHERS = ("bnxt_re", "efa", "ionic_rdma", "irdma", "qedr", "rdma_rxe", "siw")
_PEERMEM = "nvidia_peermem"
_UNLOADS = {"UNLOAD_STORAGE_MODULES": _STORAGE, "UNLOAD_THIRD_PARTY_RDMA_MODULES": ("bnxt_re", "efa", "qedr", "siw")}


@dataclass(frozen=True)
class OfedNode:
    """A node with something to do: it gets the driver (``deploy``) or loses it. ``to`` is the value of its label then.

    ``was`` is the label's value without the driver, which the node gets back if the driver does not work. ``loaded``
    says that it has the label's value with the driver already, from a run that was stopped.
    """

    name: str
    deploy: bool
    to: str
    was: str
    loaded: bool


@dataclass
class OfedPlan:
    """What is left to do. ``nodes`` and ``waves`` are the hosts with something to do, ``done`` those that have the
    driver and keep it.

    ``labels`` are those of all nodes of the cluster after the last wave. ``warnings`` name hosts that are left out,
    ``refused`` is by host what is in the way on its node alone. With ``problems``, nothing must be changed. ``text`` is
    the plan for people.
    """

    nodes: Dict[str, OfedNode] = field(default_factory=dict)
    waves: List[List[str]] = field(default_factory=list)
    labels: Dict[str, Dict[str, str]] = field(default_factory=dict)
    done: List[str] = field(default_factory=list)
    warnings: List[str] = field(default_factory=list)
    refused: Dict[str, List[str]] = field(default_factory=dict)
    problems: List[str] = field(default_factory=list)
    text: str = ""


def _of_facts(facts: Facts, loaded: bool) -> Iterator[str]:
    version = facts.system.versions.get(_DRIVER)
    if version and not loaded:
        text = f"the host has an OFED driver of its own ({_DRIVER} {version}), which the container would replace"
        yield f"{text}: remove that driver from the host, or keep it and set {ofed.DEPLOY} to false"
    own = [hca for hca in facts.hcas if hca.driver == _DRIVER]
    if not own:
        yield "this node has no NVIDIA NIC"
    for hca in own:
        for port in hca.ports:
            for reason in facts.reasons.get((hca.name, port.number), ()):
                if reason.code in (reasons.DEFAULT_ROUTE, reasons.DEFAULT_ROUTE_UNKNOWN):
                    loses = f"{hca.name} would lose its driver for a while, and with it this node its network"
                    yield f"{loses}: {reason.text}"


def _of_labels(facts: Facts, labels: Mapping[str, str]) -> Iterator[str]:
    missing = [name for name in _NEEDED if not labels.get(name)]
    if missing or labels[_NIC] != "true":
        yield f"Node Feature Discovery has not set {', '.join(missing) or _NIC}, so no pod of the driver would run here"
    elif facts.system.kernel and labels[ofed.KERNEL] != facts.system.kernel:
        text = f"this node runs kernel {facts.system.kernel}, but its label {ofed.KERNEL} is {labels[ofed.KERNEL]}"
        yield f"{text}: wait for Node Feature Discovery"


def _of_node(probe: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[str]:
    """What is in the way on the node itself, by the result of the module ``driver_watch``."""
    try:
        found = ofed_probe.read(probe)
    except ValueError as error:
        yield str(error)
        return
    for path, space in sorted(found.free.items()):
        if space < values[ofed.FREE]:
            yield f"{path} has {space} GiB of free space, less than {values[ofed.FREE]} ({ofed.FREE})"
    if found.unlimited:
        text = "rsyslog writes kernel messages without a limit, so a driver that repeats an error fills the disk"
        yield f"{text}: limit it (module imklog, RatelimitInterval and RatelimitBurst)"
    loaded = found.modules
    unloaded = {name for env, names in _UNLOADS.items() if values[ofed.ENV].get(env) == "true" for name in names}
    stays = [name for name in (*_STORAGE, *_OTHERS) if name in loaded and name not in unloaded]
    if stays:
        what = f"module {stays[0]} uses" if len(stays) == 1 else f"modules {', '.join(stays)} use"
        yield f"{what} the RDMA modules that the driver replaces: unload {'it' if len(stays) == 1 else 'them'} first"
    if loaded.get(_PEERMEM):
        yield f"module {_PEERMEM} is in use, so the driver does not start: end the programs that use it"


def _obstacles(host: InventoryHost, use: NodeUse, probe: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[str]:
    value = str(use.labels.get(LABEL) or "")
    begun = ofed.TRIAL in use.labels
    if not value.endswith((ofed.ENDING, *filter(None, OPERATED.values()))):
        yield "the Network Operator does not run its device plugin yet: run zerocopy.rdma.provision first"
        return
    if use.unschedulable and not begun:
        yield "this node is cordoned, so somebody may be working on it: uncordon it first"
    if host.facts is None:
        yield f"this node has no facts: {GATHER_FIRST}"
        return
    # What an earlier run has begun may have loaded the driver.
    yield from _of_facts(host.facts, begun)
    yield from _of_labels(host.facts, use.labels)
    yield from _of_node(probe, values)


def _busy(use: NodeUse) -> str:
    return joined([f"{user.namespace}/{user.name}" for user in use.users], 3)


def _moves(host: InventoryHost, use: NodeUse, asked: bool) -> bool:
    """Whether there is something to do on a node. A node on which a run was stopped still has the trial label."""
    return ofed.TRIAL in use.labels or ofed.has(use.labels, LABEL) != asked


def _order(
    hosts: Sequence[InventoryHost],
    todo: Sequence[InventoryHost],
    result: OfedPlan,
    ramp: Sequence[plan_waves.Size],
    limits: Mapping[str, int],
) -> None:
    """One canary of each group that has no node with the driver, each alone, and then the others."""
    proven = {host.group for host in hosts if host.name in result.done}
    canaries: List[str] = []
    for host in todo:
        if result.nodes[host.name].deploy and host.group not in proven:
            proven.add(host.group)
            canaries.append(host.name)
    members = [
        plan_waves.WaveMember(host.name, host.group, limits.get(host.group, 0))
        for host in todo
        if host.name not in canaries
    ]
    result.waves = [*([name] for name in canaries), *plan_waves.waves(members, ramp)]


def _text(result: OfedPlan) -> str:
    lines = []
    for number, wave in enumerate(result.waves, 1):
        what = [f"{'gets' if result.nodes[name].deploy else 'loses'} the OFED driver" for name in wave]
        lines += [f"Wave {number}:", *(f"  {name}: {how}" for name, how in zip(wave, what))]
    if result.done:
        lines.append(f"Nodes that already have the OFED driver: {', '.join(result.done)}")
    nothing = f"Nothing to do: {ofed.DEPLOY} is true for no host, and no node has the OFED driver."
    return "\n".join([*lines, *result.warnings]) or nothing


def plan(
    hosts: Sequence[InventoryHost],
    uses: Mapping[str, NodeUse],
    probes: Mapping[str, Mapping[str, Any]],
    known: plan_variables.Options,
    ramp: Sequence[plan_waves.Size] = plan_waves.RAMP,
    limits: Optional[Mapping[str, int]] = None,
    failed: Collection[str] = (),
) -> OfedPlan:
    """What is left to do. ``uses`` are the nodes of the cluster, ``probes`` the results of ``driver_watch``, by name.

    A node whose pods use RDMA is left for a later run, and so is one that has ``failed`` in this run. It is a problem
    if pods use the NICs of all nodes of a group.
    """
    result = OfedPlan()
    todo: List[InventoryHost] = []
    busy: Dict[str, List[str]] = {}
    found: List[Tuple[str, Problem]] = []
    shared: List[Tuple[str, Problem]] = []
    for host in hosts:
        values, use = ofed.typed(host, known), uses.get(host.name)
        if use is None:
            if values[ofed.DEPLOY]:
                found.append((host.name, Problem(ofed.DEPLOY, f"is true, but {NO_NODE}")))
            continue
        if not _moves(host, use, values[ofed.DEPLOY]):
            if values[ofed.DEPLOY]:
                result.done.append(host.name)
            continue
        if host.name in failed:
            result.warnings.append(f"{host.name} is left out, because it failed before")
            continue
        against = list(_obstacles(host, use, probes.get(host.name, {}), values)) if values[ofed.DEPLOY] else []
        found += [(host.name, Problem(ofed.DEPLOY, f"is true, but {text}")) for text in against]
        if use.users:
            busy.setdefault(host.group, []).append(host.name)
            result.warnings.append(f"{host.name} is left out, because pods use its NICs: {_busy(use)}")
        elif not against:
            was, loaded = ofed.without_driver(use.labels.get(LABEL, "")), ofed.has(use.labels, LABEL)
            to = ofed.with_driver(was) if values[ofed.DEPLOY] else was
            result.nodes[host.name] = OfedNode(host.name, values[ofed.DEPLOY], to, was, loaded)
            todo.append(host)
    waiting = {name for names in busy.values() for name in names}
    others = {host.group for host in hosts if host.name in uses and host.name not in waiting}
    for group, names in busy.items():
        if group not in others:
            text = (
                f"changes the driver, but pods use the NICs of every node of group {group}: end them on one node first"
            )
            shared += [(name, Problem(ofed.DEPLOY, text)) for name in names]
    result.labels = {name: dict(use.labels) for name, use in uses.items()}
    for name, node in result.nodes.items():
        result.labels[name][LABEL] = node.to
    _order(hosts, todo, result, ramp, limits or {})
    # Where nobody is left, it is said once.
    if shared or not todo:
        result.problems = messages([*found, *shared])
    else:
        result.refused = by_host(found)
    result.text = _text(result)
    return result
