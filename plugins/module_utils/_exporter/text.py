# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a look has found as metrics, in Prometheus' text format, version 0.0.4."""

from __future__ import annotations

from typing import Dict, Iterator, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.kernel_log import PEERMEM
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter import families
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.configuration import Configuration, Rail
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.history import ACTIVE, History, Seen
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.kernel_faults import ENDING, KINDS, KernelFaults
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.look import ON_HOST, Known
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.owners import PRIVILEGED, Owner, Owners
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.ports import Reading
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.warnings import PEERMEM_ERROR

Labels = Tuple[Tuple[str, str], ...]
_LONGEST = 256
_STATES = ("state_id", "physical_state_id", "rate_bytes_per_second")
PCIE = {
    "current_speed": ("current_link_transfers_per_second", "Speed of the PCIe link, in transfers a second."),
    "max_speed": ("max_link_transfers_per_second", "Speed that both card and slot can do, in transfers a second."),
    "current_width": ("current_link_width", "Lanes of the PCIe link."),
    "max_width": ("max_link_width", "Lanes that both card and slot have."),
}
SENSORS = {
    "temp": ("rdma_device_temperature_celsius", "Temperature of the card or its transceivers (hwmon)."),
    "power": ("rdma_device_power_watts", "Power of the card or its transceivers (hwmon)."),
}
STATS = {
    "pfc": ("pfc_pause_frames_total", "Priority flow control: pause frames of a priority."),
    "pause": ("pause_frames_total", "Global pause frames."),
    "discards": ("physical_discards_total", "Packets that the port itself discarded."),
}
SUBNET = {
    "lid": "LID of the port, 0 until a subnet manager has given it one.",
    "sm_lid": "LID of the subnet manager, 0 if there is none.",
    "sm_sl": "Service level to the subnet manager.",
}


def escaped(value: str) -> str:
    """A label's value: what is longer than any name is cut."""
    text = value if len(value) <= _LONGEST else value[:_LONGEST] + "..."
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class Metrics:
    """Samples by metric, since all of one metric have to stand together."""

    def __init__(self) -> None:
        self._families: Dict[str, Tuple[str, str, List[str]]] = {}

    def add(self, name: str, text: str, value: float, labels: Labels = ()) -> None:
        """A sample; a name that ends with _total is that of a counter."""
        kind = "counter" if name.endswith("_total") else "gauge"
        samples = self._families.setdefault(name, (kind, text, []))[2]
        inner = ",".join(f'{key}="{escaped(said)}"' for key, said in labels)
        number = repr(value) if isinstance(value, float) and value % 1 else str(int(value))
        samples.append(f"{name}{{{inner}}} {number}" if inner else f"{name} {number}")

    def text(self) -> str:
        """All of them."""
        lines: List[str] = []
        for name, (kind, text, samples) in self._families.items():
            lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}", *samples]
        return "\n".join(lines) + "\n" if lines else ""


def rail_of(config: Configuration, reading: Reading, number: str, held: bool) -> str:
    """The rail of a port in the plan, empty if it is none.

    A VF is in the rail of its port while a pod has it (``held``). Until then nothing has to bring up its link.
    """
    for rail in config.rails:
        # udev may have renamed the HCA since it was planned.
        own = rail.hca == reading["name"] or (rail.pci and rail.pci == reading["pci"])
        of_pf = held and rail.pci and rail.pci == reading["pf"]
        if of_pf or (own and (str(rail.port) == number or reading["pf"])):
            return rail.name
    return ""


def _held(place: int, owners: Sequence[Owner]) -> bool:
    """Whether a pod has a port; a privileged one only could, as it could all others."""
    return place != ON_HOST or any(owner.how != PRIVILEGED for owner in owners)


class _Port:
    """One port of an HCA, and where its metrics go; ``address`` is the PCI address of its netdev as well."""

    def __init__(
        self,
        metrics: Metrics,
        config: Configuration,
        reading: Reading,
        number: str,
        netdev: str,
        address: str,
        held: bool,
    ) -> None:
        self._metrics, self._config, self._reading, self._number = metrics, config, reading, number
        self._port, self._netdev, self._address = reading["ports"][number], netdev, address
        self.rail = rail_of(config, reading, number, held)
        self.labels: Labels = (("device", str(reading["name"])), ("port", number))
        # node_exporter has the same for what it finds itself, and a metric that two have is an error.
        self._as_node = bool(config.listen) or reading["place"] != ON_HOST

    def write(self) -> None:
        port, add = self._port, self._metrics.add
        info = (
            *self.labels,
            ("netdev", self._netdev),
            ("link_layer", port["link_layer"]),
            ("pci_address", self._address),
            ("rail", self.rail),
        )
        add("rdma_port_info", "Ports of HCAs.", 1, info)
        for name in _STATES:
            self._both(name, families.GAUGES[name], port[name])
        if self.rail and self._config.rate_gbps:
            text = "Lowest rate that the inventory expects of a rail."
            add("rdma_port_expected_rate_bytes_per_second", text, self._config.rate_gbps * 125e6, self.labels)
        for name, text in SUBNET.items():
            if port.get(name) is not None:
                add(f"rdma_port_{name}", text, port[name], self.labels)
        for file, (suffix, text) in families.COUNTERS.items():
            if file in port["counters"]:
                self._both(suffix, text, families.octets(file, port["counters"][file]))
        for file, value in port["hw"].items():
            known = families.hardware(file)
            if known:
                add(known, f"The kernel's hw_counters/{file}.", value, self.labels)

    def stats(self, found: Mapping[str, int]) -> None:
        """Counters of the netdev's driver."""
        for key, value in found.items():
            kind, direction, priority = key.split("/")
            suffix, text = STATS[kind]
            more = (("direction", direction), *((("priority", priority),) if priority else ()))
            self._metrics.add(families.OWN + suffix, text, value, (*self.labels, *more))

    def _both(self, suffix: str, text: str, value: object) -> None:
        if not isinstance(value, int):
            return
        self._metrics.add(families.own(suffix), text, value, self.labels)
        if self._as_node:
            self._metrics.add(families.NODE + suffix, families.NODE_TEXTS[suffix], value, self.labels)


def of_node(metrics: Metrics, config: Configuration) -> None:
    """The node's names in the inventory, to be joined with all else on the labels of the target."""
    labels = (("host", config.host), ("group", config.group))
    metrics.add("rdma_node_info", "The node's name and group in the inventory.", 1, labels)


def of_hcas(metrics: Metrics, config: Configuration, known: Known, history: History) -> None:
    """All that a look has found of HCAs, ports, and the pods that hold them."""
    owners = Owners(known)
    for name, reading in sorted(known.hcas.items()):
        _device(metrics, name, reading, known.gpus.get(name, []))
        gpus = ",".join(known.gpus.get(name, []))
        for number, port in reading["ports"].items():
            place = owners.place(reading, port)
            moved = (owners.moved(reading, port) or (place, None))[1]
            downs = port["downs"] if reading["place"] == place else moved.downs if moved and moved.up else None
            seen = Seen(place, port["state_id"] == ACTIVE, port["counters"].get("link_downed"), downs)
            history.port(name, number, seen)
            netdev = port["netdev"] or (moved.name if moved else "")
            having = owners.of(reading, port)
            address, held = owners.address(reading, port), _held(place, having)
            written = _Port(metrics, config, reading, number, netdev, address, held)
            written.write()
            written.stats(port.get("stats") or known.of_links.get(moved.pci if moved else "", {}))
            flaps = history.flaps[name][number]
            metrics.add("rdma_port_flaps_total", "Times that the link went down between looks.", flaps, written.labels)
            for owner in having:
                said = (*written.labels, *owner._asdict().items(), ("rail", written.rail), ("gpu", gpus))
                metrics.add("rdma_port_pod_info", "Pods and containers that hold a port.", 1, said)


def _device(metrics: Metrics, name: str, reading: Reading, gpus: Sequence[str]) -> None:
    labels: Labels = (("device", name),)
    info = [
        ("pci_address", "pci"),
        ("pf_address", "pf"),
        ("driver", "driver"),
        ("firmware_version", "firmware"),
        ("board_id", "board"),
    ]
    said = (*labels, *((label, str(reading[key])) for label, key in info), ("gpu", ",".join(gpus)))
    place = "host" if reading["place"] == ON_HOST else "pod"
    metrics.add("rdma_device_info", "HCAs, and the GPUs that are nearest to each.", 1, (*said, ("place", place)))
    for key, value in (reading["pcie"] or {}).items():
        suffix, text = PCIE[key]
        metrics.add(f"rdma_device_pcie_{suffix}", text, value, labels)
    for kind, label, value in reading["sensors"]:
        metrics.add(*SENSORS[kind], value, (*labels, ("sensor", label)))


def of_presence(metrics: Metrics, config: Configuration, known: Known, history: History) -> None:
    """Which HCAs are there: those that were seen, and those that the plan names."""
    text = "Whether an HCA is on the node, in a pod or not; 0 once it is gone."
    for name, device in sorted(history.devices.items()):
        value = history.present(name, known.functions)
        metrics.add("rdma_device_present", text, value, (("device", name), ("pci_address", device.pci)))
    for rail in _unseen(config.rails, history):
        metrics.add("rdma_device_present", text, 0, (("device", rail.hca), ("pci_address", rail.pci)))


def of_kernel(metrics: Metrics, config: Configuration, known: Known, history: History, faults: KernelFaults) -> None:
    """What the kernel has said, by PCI address and kind. Also 0, so that the first message shows as an increase."""
    name, text = "rdma_device_kernel_faults_total", "Messages of the kernel that report a fault of a device, by kind."
    lasts = "Whether the kernel has reported a fault of a device, and not that it is over."
    devices = [
        (device, seen.pci)
        for device, seen in sorted(history.devices.items())
        if seen.pci and not known.identities.get(device, {}).get("software")
    ]
    devices += [(rail.hca, rail.pci) for rail in _unseen(config.rails, history) if rail.pci]
    for device, address in devices:
        for kind in KINDS:
            labels = (("device", device), ("pci_address", address), ("kind", kind))
            metrics.add(name, text, faults.counts.get((address, kind), 0), labels)
            if kind in ENDING:
                metrics.add("rdma_device_kernel_fault_active", lasts, (address, kind) in faults.active, labels)
    labels = (("device", PEERMEM), ("pci_address", ""), ("kind", PEERMEM_ERROR))
    metrics.add(name, text, faults.counts.get((PEERMEM, PEERMEM_ERROR), 0), labels)


def _unseen(rails: Sequence[Rail], history: History) -> Iterator[Rail]:
    addresses = {device.pci for device in history.devices.values() if device.pci}
    told = set()
    for rail in rails:
        # Two ports of an HCA may be two rails.
        key = (rail.hca, rail.pci)
        if rail.hca not in history.devices and rail.pci not in addresses and key not in told:
            told.add(key)
            yield rail
