# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Devices as DRA drivers publish them, out of and into ResourceSlices.

Source of the formats: the API types of ``resource.k8s.io`` (v1, v1beta2, and v1beta1 with its fields below ``basic``).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Set, Tuple, Union

DRANET, GPU_DRIVER, AMD_DRIVER = "dra.net", "gpu.nvidia.com", "gpu.amd.com"
# Drivers of GPUs: who makes them, and the type of a whole GPU (docs/driver-attributes.md of ROCm/k8s-gpu-dra-driver).
GPU_MAKERS = {GPU_DRIVER: "NVIDIA", AMD_DRIVER: "AMD"}
_WHOLE = {GPU_DRIVER: "gpu", AMD_DRIVER: "amdgpu"}

PCIE_ROOT = "resource.kubernetes.io/pcieRoot"
NUMA_NODE = "resource.kubernetes.io/numaNode"
PCI_BUS_ID = "resource.kubernetes.io/pciBusID"
# The NVIDIA driver's own name for it before 25.12.0.
PCIE_BUS_ID = f"{GPU_DRIVER}/pcieBusID"
# AMD's driver, before 1.0.0; its own name for the NUMA node, besides which it has no standard one.
AMD_PCI_ADDRESS, AMD_NUMA_NODE = f"{AMD_DRIVER}/pciAddr", f"{AMD_DRIVER}/numaNode"
RDMA, PCI_ADDRESS, STATE, IS_VF = f"{DRANET}/rdma", f"{DRANET}/pciAddress", f"{DRANET}/state", f"{DRANET}/isSriovVf"
NIC_NUMA_NODE, IF_NAME, MAC = f"{DRANET}/numaNode", f"{DRANET}/ifName", f"{DRANET}/mac"


@dataclass(frozen=True)
class Version:
    """An attribute's value that is compared as a semantic version."""

    text: str


@dataclass(frozen=True)
class Taint:
    """What keeps claims without a toleration away from a device, as node taints do with pods (KEP-5055).

    ``value`` may be empty. Consumers have to treat an ``effect`` that they do not know like ``None``. ``time_added`` is
    as the API writes it, empty where it does not say.
    """

    key: str
    value: str
    effect: str
    time_added: str = ""

    @property
    def bars(self) -> bool:
        """Whether no new pod gets the device: claims of this collection tolerate nothing."""
        return self.effect in _BARRING

    @property
    def text(self) -> str:
        return f"{self.key}{'=' * bool(self.value)}{self.value} ({self.effect})"


_EVICTING = "NoExecute"
_BARRING = ("NoSchedule", _EVICTING)


Scalar = Union[bool, int, str, Version]
Value = Union[Scalar, Tuple[Scalar, ...]]


@dataclass
class SliceDevice:
    """One device of a pool.

    Names of attributes and capacities are fully qualified (``dra.net/rdma``), also where the driver leaves its own
    domain out. Capacities are quantities as text (``40Gi``). ``node`` is ``None`` for a device that nodes share.
    What is predicted has no ``taints``.
    """

    driver: str
    pool: str
    name: str
    node: Optional[str] = None
    attributes: Dict[str, Value] = field(default_factory=dict)
    capacity: Dict[str, str] = field(default_factory=dict)
    taints: Tuple[Taint, ...] = ()

    @property
    def is_barred(self) -> bool:
        """Whether a taint keeps new pods away."""
        return any(taint.bars for taint in self.taints)

    @property
    def evicts(self) -> bool:
        """Whether a taint ends the pods that have the device."""
        return any(taint.effect == _EVICTING for taint in self.taints)

    @property
    def is_gpu(self) -> bool:
        """A whole GPU, not a part of one (MIG) or one for virtual machines (VFIO)."""
        return self.driver in _WHOLE and self.attributes.get(f"{self.driver}/type") == _WHOLE[self.driver]

    @property
    def is_rdma_nic(self) -> bool:
        return self.driver == DRANET and self.attributes.get(RDMA) is True

    @property
    def pci(self) -> Optional[str]:
        """PCI address, where the driver tells it."""
        for name in (PCI_ADDRESS, PCI_BUS_ID, PCIE_BUS_ID, AMD_PCI_ADDRESS):
            if name in self.attributes:
                return str(self.attributes[name])
        return None


_KINDS = (("bool", bool), ("int", int), ("string", str), ("version", Version))


def _value(attribute: Mapping[str, Any]) -> Value:
    for key, kind in _KINDS:
        if attribute.get(key) is not None:
            found: Value = kind(attribute[key])
            return found
        if attribute.get(f"{key}s") is not None:
            return tuple(kind(item) for item in attribute[f"{key}s"])
    raise ValueError(f"an attribute of a device has no known value: {dict(attribute)!r}")


def _qualified(name: str, driver: str) -> str:
    return name if "/" in name else f"{driver}/{name}"


def _quantity(capacity: Any) -> str:
    return str(capacity["value"] if isinstance(capacity, Mapping) else capacity)


_TEXTS = ("key", "value", "effect", "timeAdded")


def _taint(raw: Any) -> Taint:
    texts = [raw.get(name) or "" for name in _TEXTS] if isinstance(raw, Mapping) else [None]
    if not all(isinstance(text, str) for text in texts) or not (texts[0] and texts[2]):
        raise ValueError(f"a taint of a device has no key or effect, or they are no texts: {raw!r}")
    return Taint(*texts)


def _device(raw: Mapping[str, Any], spec: Mapping[str, Any]) -> SliceDevice:
    driver = spec["driver"]
    body = raw.get("basic") or raw
    return SliceDevice(
        driver=driver,
        pool=spec["pool"]["name"],
        name=raw["name"],
        node=spec.get("nodeName") or body.get("nodeName"),
        attributes={
            _qualified(name, driver): _value(attribute) for name, attribute in (body.get("attributes") or {}).items()
        },
        capacity={
            _qualified(name, driver): _quantity(quantity) for name, quantity in (body.get("capacity") or {}).items()
        },
        taints=tuple(map(_taint, body.get("taints") or ())),
    )


def specs(objects: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The specs of ResourceSlices or lists of them."""
    for document in objects:
        if document.get("kind", "").endswith("List"):
            yield from specs(document["items"])
        else:
            yield document["spec"]


def _of_its_pool(spec: Mapping[str, Any]) -> bool:
    """Whether a slice is in the pool of its node, or not of a single node.

    The account of a kubelet may publish slices with the name of its own node (NodeRestriction), but in any pool, and
    one with a newer generation would hide the devices of another node. Drivers name pools of devices of a node after it
    (``PublishResources`` of NVIDIA's k8s-dra-driver-gpu, of ROCm's k8s-gpu-dra-driver and of dranet).
    """
    return not spec.get("nodeName") or spec["nodeName"] == spec["pool"]["name"]


def misplaced(objects: Iterable[Mapping[str, Any]]) -> List[str]:
    """The nodes with slices in pools that are not theirs; these do not count."""
    return sorted({str(spec["nodeName"]) for spec in specs(objects) if not _of_its_pool(spec)})


def devices(objects: Iterable[Mapping[str, Any]]) -> List[SliceDevice]:
    """The devices of ResourceSlices or lists of them, in any version of the API.

    Of each pool only the slices of the newest generation count, as for the scheduler. Raises ValueError.
    """
    every = [spec for spec in specs(objects) if _of_its_pool(spec)]
    newest: Dict[Tuple[str, str], int] = {}
    for spec in every:
        key = (spec["driver"], spec["pool"]["name"])
        newest[key] = max(newest.get(key, 0), spec["pool"].get("generation") or 0)
    current = [
        spec for spec in every if (spec["pool"].get("generation") or 0) == newest[spec["driver"], spec["pool"]["name"]]
    ]
    return [_device(raw, spec) for spec in current for raw in spec.get("devices") or []]


def by_node(found: Iterable[SliceDevice]) -> Dict[str, Dict[Tuple[str, str], SliceDevice]]:
    """Devices by their node, and there by driver and name."""
    nodes: Dict[str, Dict[Tuple[str, str], SliceDevice]] = {}
    for device in found:
        nodes.setdefault(str(device.node), {})[device.driver, device.name] = device
    return nodes


def publishing(objects: Iterable[Mapping[str, Any]]) -> Dict[str, Set[str]]:
    """By node the drivers that have a ResourceSlice for it, be it one without devices."""
    found: Dict[str, Set[str]] = {}
    for spec in specs(objects):
        if spec.get("nodeName") and _of_its_pool(spec):
            found.setdefault(spec["nodeName"], set()).add(spec["driver"])
    return found


def serving(found: Iterable[SliceDevice]) -> Set[Tuple[str, str]]:
    """By these devices, which driver serves which node; of DRANET only RDMA NICs count."""
    counting = (device for device in found if device.is_rdma_nic or device.driver != DRANET)
    return {(device.driver, str(device.node)) for device in counting}


def plain(device: SliceDevice) -> Dict[str, Any]:
    """A device as JSON has it, its attributes without their types."""

    def value(attribute: Value) -> Any:
        return (
            [value(each) for each in attribute]
            if isinstance(attribute, tuple)
            else getattr(attribute, "text", attribute)
        )

    return {
        "driver": device.driver,
        "pool": device.pool,
        "name": device.name,
        "node": device.node,
        "pci": device.pci,
        "attributes": {name: value(attribute) for name, attribute in device.attributes.items()},
        "capacity": device.capacity,
        "taints": list(map(asdict, device.taints)),
    }
