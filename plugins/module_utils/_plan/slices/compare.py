# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a node's drivers publish, compared with what its facts say that they should, with the reasons."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Collection, Iterator, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.slices import model
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.slices.expected import Expected
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.slices.model import Device, Value
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, messages

# Any of them, being true, brings the pod of NVIDIA's driver to a node (node affinity of its Helm chart).
GPU_LABELS = (
    "nvidia.com/gpu.present",
    "feature.node.kubernetes.io/pci-10de.present",
    "feature.node.kubernetes.io/pci-0300_10de.present",
    "feature.node.kubernetes.io/pci-0302_10de.present",
)
# Lines of text for people; the module returns all differences.
_MOST_LINES = 30

# What is published of a NIC wherever its netdev is.
_LASTING = (model.RDMA, model.PCI_ADDRESS, model.NIC_NUMA_NODE, model.NUMA_NODE, model.PCIE_ROOT)
# What changes with a cable, or by the role rdma_links after the facts were gathered.
_PASSING = tuple(f"{model.DRANET}/{name}" for name in ("state", "mtu", "ipv4", "ipv6"))
_TYPE = f"{model.GPU_DRIVER}/type"
# Of a NIC with a netdev it is told by some versions only.
_RDMA_DEVICE = f"{model.DRANET}/rdmaDevice"


@dataclass(frozen=True)
class Seen:
    """What the cluster says of a node. ``pod`` is how DRANET's pod there is, ``None`` if that may not be read."""

    exists: bool = True
    labels: Mapping[str, str] = field(default_factory=dict)
    drivers: Collection[str] = ()
    pod: Optional[str] = ""


@dataclass(frozen=True)
class Odd:
    """A device that is missing or one too many; ``intended`` where it is missing on purpose."""

    driver: str
    name: str
    pci: Optional[str]
    reason: str
    intended: bool = False


@dataclass(frozen=True)
class Differing:
    """An attribute of a device with another value than expected, ``None`` where it is not published."""

    driver: str
    name: str
    pci: Optional[str]
    attribute: str
    expected: Value
    published: Optional[Value]
    reason: str = ""


@dataclass
class Compared:
    """The differences of one node."""

    missing: List[Odd] = field(default_factory=list)
    extra: List[Odd] = field(default_factory=list)
    differing: List[Differing] = field(default_factory=list)


def silent(driver: str, seen: Seen) -> str:
    """Why a driver publishes nothing at all for a node."""
    if not seen.exists:
        return "the cluster has no node of this name"
    if driver == model.GPU_DRIVER:
        if not any(seen.labels.get(label) == "true" for label in GPU_LABELS):
            return f"no label brings NVIDIA's DRA driver to the node, {GPU_LABELS[0]}=true or one of NFD's would"
        return "NVIDIA's DRA driver does not run there, or without gpuResourcesEnabledOverride=true"
    pod = "its pod may not be looked at" if seen.pod is None else seen.pod
    return f"DRANET publishes nothing there: {pod or 'it has no pod there'}"


def _missing(device: Device, seen: Seen, others: Sequence[Device]) -> str:
    if not seen.exists or device.driver not in seen.drivers:
        return silent(device.driver, seen)
    if device.driver == model.GPU_DRIVER:
        kinds = {str(one.attributes.get(_TYPE)) for one in others if _place(one) == _place(device)}
        instead = f"publishes it as {', '.join(sorted(kinds))}" if kinds else "leaves it out"
        return f"NVIDIA's DRA driver runs there, and {instead}"
    # A NIC without an RDMA device when the driver looked is filtered, and the default route is looked for only once.
    loaded = "if RDMA modules were loaded or the default route has moved since DRANET was started, restart it"
    return f"DRANET runs there, and leaves it out: {loaded}"


def _place(device: Device) -> Tuple[str, str]:
    # The name of a GPU is its minor number, which need not be its place on the bus.
    return device.driver, device.pci or device.name


def _extra(device: Device, expected: Expected) -> Optional[str]:
    """Why a device is one too many, ``None`` where it is not."""
    if device.is_rdma_nic:
        against = expected.left_out.get(device.pci or "")
        if against:
            return f"{against}: restart DRANET if that is new"
        # With its RDMA device a NIC in a pod has left the facts.
        return None if expected.may_hide_nics else "no such NIC is in the facts of the node"
    return "no such GPU is in the facts of the node" if device.is_gpu else None


def _same(expected: Value, published: Optional[Value]) -> bool:
    # With the feature gate DRAListTypeAttributes it is a list of one.
    return expected == published or (isinstance(published, tuple) and expected in published)


def _attributes(expected: Device, published: Device) -> Iterator[Differing]:
    is_nic = expected.driver == model.DRANET
    in_pod = is_nic and model.IF_NAME not in published.attributes
    for name, value in expected.attributes.items():
        found = published.attributes.get(name)
        untold = found is None and name == _RDMA_DEVICE
        if _same(value, found) or name in _PASSING or untold or (in_pod and name not in _LASTING):
            continue
        reason = "its RDMA modules were loaded after DRANET was started: restart DRANET" if name == model.RDMA else ""
        yield Differing(published.driver, published.name, expected.pci, name, value, found, reason)


def compare(expected: Expected, published: Sequence[Device], seen: Seen) -> Compared:
    """What is different on one node. ``published`` are its devices.

    No difference are attributes that nobody expects, those of the netdev of a NIC that is in a pod, and what changes
    by itself (state, MTU, addresses).
    """
    found = Compared()
    for address, why in expected.left_out.items():
        if not any(device.pci == address for device in published):
            found.missing.append(Odd(model.DRANET, "", address, why, intended=True))
    # A part of a GPU has the address of the GPU.
    by_place = {_place(device): device for device in published if device.is_gpu or device.driver == model.DRANET}
    for device in expected.devices:
        other = by_place.pop(_place(device), None)
        if other is None:
            why = _missing(device, seen, published)
            found.missing.append(Odd(device.driver, device.name, device.pci, why))
        else:
            found.differing += _attributes(device, other)
    for device in by_place.values():
        reason = _extra(device, expected) if device.driver in expected.drivers else None
        if reason:
            found.extra.append(Odd(device.driver, device.name, device.pci, reason))
    return found


def _counted(odd: Sequence[Odd], what: str) -> Iterator[Problem]:
    """Devices with the same reason in one line: one of them by its address, more as a number."""
    counts = Counter((one.driver, one.reason) for one in odd)
    for (driver, reason), count in counts.items():
        kind = "GPU" if driver == model.GPU_DRIVER else "NIC"
        places = [one.pci or one.name for one in odd if (one.driver, one.reason) == (driver, reason)]
        one = count == 1
        yield Problem(f"{kind} {places[0]}" if one else f"{count} {kind}s", f"{'is' if one else 'are'} {what} {reason}")


def _changed(one: Differing) -> Problem:
    has = f"no {one.attribute}" if one.published is None else f"{one.attribute} {one.published!r}"
    text = f"has {has}, the facts say {one.expected!r}"
    kind = "GPU" if one.driver == model.GPU_DRIVER else "NIC"
    return Problem(f"{kind} {one.pci or one.name}", f"{text}: {one.reason}" if one.reason else text)


def lines(found: Mapping[str, Compared]) -> List[str]:
    """The differences of all nodes as text, nodes with the same one together; what is intended is none."""
    every: List[Tuple[str, Problem]] = []
    for node, one in found.items():
        every += [(node, problem) for problem in _counted([odd for odd in one.missing if not odd.intended], "missing:")]
        every += [(node, problem) for problem in _counted(one.extra, "published, but")]
        every += [(node, _changed(differing)) for differing in one.differing]
    texts = messages(every)
    more = len(texts) - _MOST_LINES
    return texts if more <= 0 else [*texts[:_MOST_LINES], f"... and {more} more differences"]
