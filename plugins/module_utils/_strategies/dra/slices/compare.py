# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a node's drivers publish, compared with what its facts say that they should, with the reasons."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Collection, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes import names
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model, versions
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice, Value
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import NO_NODE
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, messages
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted


@dataclass
class Expected:
    """``drivers`` are those that should publish something; ``left_out`` are PCI addresses of NICs with the reason.

    ``may_hide_nics``: a NIC in a pod may be missing in the facts, so there may be more of them.
    ``wait``: the drivers of which it is worth waiting until they publish something.
    """

    drivers: Set[str] = field(default_factory=set)
    devices: List[SliceDevice] = field(default_factory=list)
    left_out: Dict[str, str] = field(default_factory=dict)
    may_hide_nics: bool = False
    wait: Set[str] = field(default_factory=set)


def written(expected: Expected) -> Dict[str, Any]:
    """What is expected as JSON has it."""
    devices = [
        {"driver": device.driver, "name": device.name, "attributes": device.attributes} for device in expected.devices
    ]
    return {
        "drivers": sorted(expected.drivers),
        "devices": devices,
        "left_out": expected.left_out,
        "may_hide_nics": expected.may_hide_nics,
        "wait": sorted(expected.wait),
    }


def read(node: str, entry: Mapping[str, Any]) -> Expected:
    """What was written for a node. Raises ValueError."""
    try:
        return Expected(
            set(entry["drivers"]),
            [
                SliceDevice(entry["driver"], node, entry["name"], node, entry["attributes"])
                for entry in entry["devices"]
            ],
            dict(entry["left_out"]),
            entry["may_hide_nics"],
            set(entry["wait"]),
        )
    except KeyError as error:
        raise ValueError(f"has no {error}") from error
    except (TypeError, ValueError) as error:
        raise ValueError("has the wrong format") from error


# Any of them, being true, brings the pod of NVIDIA's driver to a node (node affinity of its Helm chart).
GPU_LABELS = (
    "nvidia.com/gpu.present",
    "feature.node.kubernetes.io/pci-10de.present",
    "feature.node.kubernetes.io/pci-0300_10de.present",
    "feature.node.kubernetes.io/pci-0302_10de.present",
)
# Lines of text for people; the module returns all differences.
_MOST_LINES = 30

# Attributes of a NIC that are published wherever its netdev is.
_LASTING = (model.RDMA, model.PCI_ADDRESS, model.NIC_NUMA_NODE, model.NUMA_NODE, model.PCIE_ROOT, *names.EVERY)
# What changes with a cable, or by the role rdma_links after the facts were gathered.
_PASSING = tuple(f"{model.DRANET}/{name}" for name in ("state", "mtu", "ipv4", "ipv6"))
# Only some versions publish it for a NIC with a netdev.
_RDMA_DEVICE = f"{model.DRANET}/rdmaDevice"


# Of an attribute of ours. DRANET that has started without the daemon asks nobody until it is restarted, and publishes
# nothing of a NIC for which one question has failed (``pkg/cloudprovider/webhook`` of v1.4.0).
_UNTOLD = f"DRANET has no answer of the daemon on the node ({names.UNIT})"
_TOLD_OTHERWISE = f"the daemon on the node ({names.UNIT}) says so, or DRANET has not asked it since it was changed"

# Why a device is missing or one too many, by code.
REASONS = {
    "no_node": NO_NODE,
    "no_label": f"no label selects the node for NVIDIA's DRA driver: {GPU_LABELS[0]}=true or one of NFD's is needed",
    "no_gpus": "NVIDIA's DRA driver does not run there, or runs without gpuResourcesEnabledOverride=true",
    "no_amd_gpus": "AMD's DRA driver does not run there",
    "no_nics": "DRANET publishes nothing there: {}",
    "another_type": "{}'s DRA driver runs there, but publishes it as {}",
    "gpu_left_out": "{}'s DRA driver runs there, but does not publish it",
    # A NIC without an RDMA device when the driver looked is filtered, and the default route is looked for only once.
    "nic_left_out": "DRANET runs there, but does not publish it: if RDMA modules were loaded or the default route has "
    "moved since DRANET was started, restart it",
    "excluded": "{}",
    "not_excluded": "{}: restart DRANET if this is new",
    "unknown_nic": "the facts of the node have no such NIC",
    "unknown_gpu": "the facts of the node have no such GPU",
}


@dataclass(frozen=True)
class NodeSeen:
    """What the cluster says of a node. ``pod`` is how DRANET's pod there is, ``None`` if that may not be read."""

    exists: bool = True
    labels: Mapping[str, str] = field(default_factory=dict)
    drivers: Collection[str] = ()
    pod: Optional[str] = ""


@dataclass(frozen=True)
class DeviceDifference:
    """A device that is missing or one too many; ``intended`` where it is missing on purpose.

    ``code`` is a key of ``REASONS``, ``reason`` the same in words.
    """

    driver: str
    name: str
    pci: Optional[str]
    code: str
    reason: str
    intended: bool = False


@dataclass(frozen=True)
class AttributeDifference:
    """An attribute of a device with another value than expected, ``None`` where it is not published."""

    driver: str
    name: str
    pci: Optional[str]
    attribute: str
    expected: Value
    published: Optional[Value]
    reason: str = ""


@dataclass
class NodeDifferences:
    """The differences of one node."""

    missing: List[DeviceDifference] = field(default_factory=list)
    extra: List[DeviceDifference] = field(default_factory=list)
    differing: List[AttributeDifference] = field(default_factory=list)


def _because(code: str, *details: str) -> Tuple[str, str]:
    return code, REASONS[code].format(*details)


def silent(driver: str, seen: NodeSeen) -> Tuple[str, str]:
    """Why a driver publishes nothing at all for a node: the code, and the same in words."""
    if not seen.exists:
        return _because("no_node")
    if driver == model.GPU_DRIVER:
        labelled = any(seen.labels.get(label) == "true" for label in GPU_LABELS)
        return _because("no_gpus" if labelled else "no_label")
    if driver == model.AMD_DRIVER:
        return _because("no_amd_gpus")
    pod = "its pod cannot be read" if seen.pod is None else seen.pod
    return _because("no_nics", pod or "it has no pod there")


def _missing(device: SliceDevice, seen: NodeSeen, others: Sequence[SliceDevice]) -> Tuple[str, str]:
    if not seen.exists or device.driver not in seen.drivers:
        return silent(device.driver, seen)
    if device.driver in model.GPU_MAKERS:
        maker = model.GPU_MAKERS[device.driver]
        there = [other for other in others if _place(other) == _place(device)]
        kinds = ", ".join(sorted({str(other.attributes.get(f"{device.driver}/type")) for other in there}))
        return _because("another_type", maker, kinds) if kinds else _because("gpu_left_out", maker)
    return _because("nic_left_out")


def _place(device: SliceDevice) -> Tuple[str, str]:
    # The name of a GPU is its minor number, which need not be its place on the bus.
    return device.driver, device.pci or device.name


def _extra(device: SliceDevice, expected: Expected) -> Optional[Tuple[str, str]]:
    """Why a device is unexpected, ``None`` if it is expected."""
    if device.is_rdma_nic:
        against = expected.left_out.get(device.pci or "")
        if against:
            return _because("not_excluded", against)
        # With its RDMA device a NIC in a pod has left the facts.
        return None if expected.may_hide_nics else _because("unknown_nic")
    return _because("unknown_gpu") if device.is_gpu else None


def _same(expected: Value, published: Optional[Value]) -> bool:
    # With the feature gate DRAListTypeAttributes it is a list of one.
    return expected == published or (isinstance(published, tuple) and expected in published)


def _attributes(expected: SliceDevice, published: SliceDevice) -> Iterator[AttributeDifference]:
    is_nic = expected.driver == model.DRANET
    in_pod = is_nic and model.IF_NAME not in published.attributes
    for name, value in expected.attributes.items():
        found = published.attributes.get(name)
        untold = found is None and name == _RDMA_DEVICE
        if _same(value, found) or name in _PASSING or untold or (in_pod and name not in _LASTING):
            continue
        reason = ""
        if name == model.RDMA:
            reason = "its RDMA modules were loaded after DRANET was started: restart DRANET"
        elif name == model.NUMA_NODE and found is None:
            variable = versions.DRANET_VERSION if is_nic else versions.GPU_VERSION
            reason = f"its driver is older than {variable} says"
        elif name in names.EVERY:
            reason = _UNTOLD if found is None else _TOLD_OTHERWISE
        yield AttributeDifference(published.driver, published.name, expected.pci, name, value, found, reason)


def compare(expected: Expected, published: Sequence[SliceDevice], seen: NodeSeen) -> NodeDifferences:
    """The differences on one node. ``published`` are its devices.

    No difference are attributes that nobody expects, those of the netdev of a NIC that is in a pod, and what changes
    by itself (state, MTU, addresses).
    """
    found = NodeDifferences()
    for address, why in expected.left_out.items():
        if not any(device.pci == address for device in published):
            found.missing.append(DeviceDifference(model.DRANET, "", address, *_because("excluded", why), intended=True))
    # A part of a GPU has the address of the GPU.
    by_place = {_place(device): device for device in published if device.is_gpu or device.driver == model.DRANET}
    for device in expected.devices:
        other = by_place.pop(_place(device), None)
        if other is None:
            reason = _missing(device, seen, published)
            found.missing.append(DeviceDifference(device.driver, device.name, device.pci, *reason))
        else:
            found.differing += _attributes(device, other)
    for device in by_place.values():
        too_many = _extra(device, expected) if device.driver in expected.drivers else None
        if too_many:
            found.extra.append(DeviceDifference(device.driver, device.name, device.pci, *too_many))
    return found


def _counted(odd: Sequence[DeviceDifference], what: str) -> Iterator[Problem]:
    """Devices with the same reason in one line: one of them by its address, more as a number."""
    counts = Counter((difference.driver, difference.reason) for difference in odd)
    for (driver, reason), count in counts.items():
        kind = "GPU" if driver in model.GPU_MAKERS else "NIC"
        places = [
            difference.pci or difference.name
            for difference in odd
            if (difference.driver, difference.reason) == (driver, reason)
        ]
        single = count == 1
        yield Problem(
            f"{kind} {places[0]}" if single else f"{count} {kind}s", f"{'is' if single else 'are'} {what} {reason}"
        )


def _changed(difference: AttributeDifference) -> Problem:
    has = (
        f"no {difference.attribute}"
        if difference.published is None
        else f"{difference.attribute} {difference.published!r}"
    )
    text = f"has {has}, the facts say {difference.expected!r}"
    kind = "GPU" if difference.driver in model.GPU_MAKERS else "NIC"
    return Problem(
        f"{kind} {difference.pci or difference.name}", f"{text}: {difference.reason}" if difference.reason else text
    )


def lines(found: Mapping[str, NodeDifferences]) -> List[str]:
    """The differences of all nodes as text, equal ones of several nodes once, without those that are intended."""
    every: List[Tuple[str, Problem]] = []
    for node, differences in found.items():
        every += [
            (node, problem)
            for problem in _counted([odd for odd in differences.missing if not odd.intended], "missing:")
        ]
        every += [(node, problem) for problem in _counted(differences.extra, "published, but")]
        every += [(node, _changed(differing)) for differing in differences.differing]
    texts = messages(every)
    more = len(texts) - _MOST_LINES
    return texts if more <= 0 else [*texts[:_MOST_LINES], f"... and {counted(more, 'more difference')}"]
