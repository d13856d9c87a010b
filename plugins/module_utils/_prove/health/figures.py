# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What exporters know and facts do not, as facts: so that the same rules judge it.

Facts are of the host's namespaces. A NIC that DRANET has moved is missing there, or has no netdev, and is never judged.
Of the kernel's messages, facts have those that are still in its ring buffer, which a flood of others overwrites.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import kernel_log, pci, warnings
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import reasons
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.findings import Excluded, Reason, Usable, Warn
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import (
    CharDevice,
    Facts,
    Hca,
    PcieLink,
    PciFunction,
    Port,
    Sriov,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.warnings import warning
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.memory import Counters
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.integer import is_integer
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.pci import is_address

# Seconds after which figures are of another time.
OLDEST = 300.0
_ACTIVE = "ACTIVE"
# Of include/rdma/ib_verbs.h (enum ib_port_state), and IBTA's PortPhysicalState, as sysfs writes them.
STATES = {1: "DOWN", 2: "INIT", 3: "ARMED", 4: _ACTIVE, 5: "ACTIVE_DEFER"}
PHYSICAL = {
    1: "Sleep",
    2: "Polling",
    3: "Disabled",
    4: "PortConfigurationTraining",
    5: "LinkUp",
    6: "LinkErrorRecovery",
    7: "Phy Test",
}
_LAYERS = ("InfiniBand", "Ethernet")
_POD = "pod"
SOFTWARE = ("rxe", "siw")
_FAULTS = ("faults", "active_faults")
_DOWNED, _FLAPS = "link_downed", "flaps"
# When a fault was over: the exporter only says that it is.
_UNTOLD = "a time that it does not tell"
# What the exporter does not tell, and a moved NIC has, or the pod could not use it.
_THERE = CharDevice("", "", present=True)


class UnusableError(ValueError):
    """What a node sent is not what its exporter writes."""


@dataclass
class Figures:
    """What is known of a node: ``devices`` and ``ports`` as :mod:`_exporter.figures` reads them."""

    devices: Dict[str, Dict[str, Any]] = field(default_factory=dict)
    ports: Dict[str, Dict[str, Any]] = field(default_factory=dict)


def _checked(at: str, value: Any) -> Dict[str, Dict[str, Any]]:
    if not isinstance(value, Mapping) or not all(isinstance(own, Mapping) for own in value.values()):
        raise UnusableError(f"{at} is {str(value)[:80]!r}, it must be a map of maps")
    return {str(name): dict(own) for name, own in value.items()}


def read(value: Any) -> Optional[Figures]:
    """The figures that a node sent, ``None`` for none or for old ones. Raises UnusableError."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise UnusableError(f"the figures are {str(value)[:80]!r}, they must be a map")
    age = value.get("age")
    if not isinstance(age, (int, float)) or age > OLDEST:
        return None
    found = Figures(_checked("devices", value.get("devices")), _checked("ports", value.get("ports")))
    for name, port in found.ports.items():
        _whole_numbers(f"the counters of {name}", port.get("counters"))
    for name, device in found.devices.items():
        for key in _FAULTS:
            _whole_numbers(f"the {key} of {name}", device.get(key, {}))
    return found


def _whole_numbers(at: str, value: Any) -> None:
    if not isinstance(value, Mapping) or not all(is_integer(count) for count in value.values()):
        raise UnusableError(f"{at} are {str(value)[:80]!r}, they must be whole numbers")


def _scaled(value: Any, scale: float) -> Optional[float]:
    return value / scale if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _link(device: Mapping[str, Any]) -> Optional[PcieLink]:
    speeds = [_scaled(device.get(name), 1e9) for name in ("current_speed", "max_speed")]
    widths = [_scaled(device.get(name), 1) for name in ("current_width", "max_width")]
    now, best = [int(width) if width else None for width in widths]
    return pci.completed(PcieLink(speeds[0], now, speeds[1], best)) if any((*speeds, *widths)) else None


def _port(number: int, own: Mapping[str, Any]) -> Port:
    layer = own.get("link_layer")
    return Port(
        number=number,
        state=STATES.get(own.get("state_id", 0)),
        physical_state=PHYSICAL.get(own.get("physical_state_id", 0)),
        link_layer=layer if layer in _LAYERS else None,
        rate_gbps=_scaled(own.get("rate_bytes_per_second"), 125e6),
        lid=own.get("lid"),
        sm_lid=own.get("sm_lid"),
        umad=_THERE,
        error_counters=_counters(own),
    )


def _counters(own: Mapping[str, Any]) -> Dict[str, int]:
    """Those of the kernel, and how often the exporter has seen the link go down."""
    flaps = own.get(_FLAPS)
    return {**own["counters"], **({_FLAPS: int(flaps)} if flaps is not None and is_integer(flaps) else {})}


def downs(before: Counters, after: Counters) -> Tuple[Counters, Counters]:
    """Two readings in which ``link_downed`` is the kernel's counter, or the exporter's if that has grown more.

    RoCE has no such counter, or one that stays 0 (mlx5). Of what happens while no exporter runs, only the kernel knows.
    """
    found = dict(before), dict(after)
    for port in before.keys() & after.keys():
        was, now = before[port], after[port]
        grown = {name: now[name] - was[name] for name in (_DOWNED, _FLAPS) if name in was and name in now}
        if _FLAPS in grown and grown[_FLAPS] > grown.get(_DOWNED, 0):
            found[0][port], found[1][port] = ({**own, _DOWNED: own[_FLAPS]} for own in (was, now))
    return found


def _moved(name: str, device: Mapping[str, Any], figures: Figures) -> Hca:
    ports = []
    for port, own in figures.ports.items():
        hca, _slash, number = port.rpartition("/")
        if hca == name and number.isdigit():
            ports.append(_port(int(number), own))
    address = str(device.get("pci_address") or "")
    function = PciFunction(address, "", "", "") if address else None
    pf = str(device.get("pf_address") or "")
    board, driver = str(device.get("board_id") or ""), str(device.get("driver") or "")
    return Hca(
        name=name,
        driver=driver or None,
        software=driver in SOFTWARE,
        board_id=board or None,
        pci=function,
        pcie_link=_link(device),
        uverbs=_THERE,
        ports=ports,
        sriov=Sriov(role="vf", pf_address=pf) if is_address(pf) else Sriov(),
    )


def _is_moved(found: Sequence[Reason]) -> bool:
    """Whether a pod has a port, and it would be fit for workloads without that."""
    codes = {reason.code for reason in found}
    return reasons.IN_POD in codes and codes <= reasons.PASSING


def _why(hca: Hca) -> List[Reason]:
    """Why a port in a pod is not usable on the host."""
    found = [reasons.reason(reasons.VF, pf_address=hca.sriov.pf_address)] if hca.sriov.role == "vf" else []
    return [*found, reasons.reason(reasons.IN_POD)]


def _judged(hcas: Sequence[Hca]) -> List[Warn]:
    """What discover would warn of if these were on the host."""
    usable, excluded = [], []
    for hca in hcas:
        for port in hca.ports:
            if port.state == _ACTIVE:
                usable.append(Usable(hca.name, port.number))
            else:
                excluded.append(Excluded(hca.name, port.number, [reasons.reason(reasons.PORT_DOWN, state=port.state)]))
    return warnings.of_hcas(hcas, usable, excluded)


def complete(facts: Facts, figures: Optional[Figures]) -> Tuple[Facts, List[str]]:
    """The facts with what is known of NICs in pods, and the HCAs whose NICs are judged in this way.

    Those that have stayed in the host's RDMA namespace (netns mode ``shared``) are known without an exporter.
    """
    here = {hca.name for hca in facts.hcas}
    away = {hca for (hca, _port), found in facts.reasons.items() if _is_moved(found)}
    known = figures or Figures()
    present = [_with_function(hca, known) for hca in facts.hcas]
    added = [
        _moved(name, device, known)
        for name, device in known.devices.items()
        if device.get("place") == _POD and name not in here
    ]
    # A VF is a part of its NIC, which is judged on the host; an older exporter does not tell which one is a VF.
    nics = [hca for hca in added if hca.sriov.role != "vf"]
    moved = [hca for hca in present if hca.name in away and all(port.state for port in hca.ports)] + nics
    excluded = [Excluded(hca.name, port.number, _why(hca)) for hca in added for port in hca.ports]
    hcas = [_with_flaps(hca, known) for hca in present] + added
    found = replace(
        facts,
        hcas=hcas,
        excluded=[*facts.excluded, *excluded],
        warnings=[
            *facts.warnings,
            *(_judged(moved) if moved else []),
            *_kernel_faults(facts, hcas, known),
        ],
    )
    return found, [hca.name for hca in moved]


def _with_function(hca: Hca, figures: Figures) -> Hca:
    """A software device whose netdev is in a pod has no PCI function on the host, and is the same NIC as before."""
    ports = [figures.ports.get(f"{hca.name}/{port.number}", {}) for port in hca.ports]
    addresses = [port["pci_address"] for port in ports if is_address(str(port.get("pci_address")))]
    return replace(hca, pci=PciFunction(addresses[0], "", "", "")) if addresses and not hca.pci else hca


def _with_flaps(hca: Hca, figures: Figures) -> Hca:
    ports = []
    for port in hca.ports:
        own = figures.ports.get(f"{hca.name}/{port.number}", {})
        counters = _counters({**own, "counters": port.error_counters})
        ports.append(replace(port, error_counters=counters))
    return replace(hca, ports=ports)


def _kernel_faults(facts: Facts, hcas: Sequence[Hca], figures: Figures) -> Iterator[Warn]:
    """What the kernel has said of devices, unless facts have it as well, with the message."""
    known = {(each.code, each.subject) for each in facts.warnings}
    # Facts listen only for devices with a driver of rdma_discover_drivers.
    others = {
        hca
        for (hca, _port), found in facts.reasons.items()
        if reasons.DRIVER_NOT_ALLOWED in {reason.code for reason in found}
    }
    names = {hca.pci.address: hca.name for hca in hcas if hca.pci}
    for device, own in figures.devices.items():
        address = own.get("pci_address")
        if not isinstance(address, str) or not (is_address(address) or device == kernel_log.PEERMEM):
            continue
        subject = names.get(address, address or device)
        for rule in kernel_log.RULES:
            count = own.get("faults", {}).get(rule.code, 0)
            if count < 1 or subject in others or known & {(rule.code, subject), (rule.code, address)}:
                continue
            over = bool(rule.over) and not own.get("active_faults", {}).get(rule.code)
            yield warning(rule.code, subject, count=count, kind=rule.code, recovered=_UNTOLD if over else None)
