# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Why a port is excluded, as codes with fields. Codes and fields decide; their texts are made here and nowhere else."""

from __future__ import annotations

from typing import Callable, Dict, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import findings
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.findings import FieldValue, Reason

BOND = "bond"
BOND_SLAVE = "bond_slave"
BRIDGE_PORT = "bridge_port"
DEFAULT_ROUTE = "default_route"
DEFAULT_ROUTE_UNKNOWN = "default_route_unknown"
DRIVER_NOT_ALLOWED = "driver_not_allowed"
IN_POD = findings.IN_POD
NVSWITCH_MANAGEMENT = "nvswitch_management"
PCI_UNKNOWN = "pci_unknown"
PORT_DOWN = "port_down"
ROCE_LAG = "roce_lag"
SOFTWARE_DEVICE = "software_device"
SUBDEVICE = "subdevice"
TEAM_PORT = "team_port"
VF = "vf"

# Reasons that pass by themselves. All others say that the port is no RDMA link of the host's own.
PASSING = frozenset((PORT_DOWN, IN_POD))


def _software_device(hca: str, driver: Optional[str] = None) -> str:
    return f"{hca} is a software device ({driver or 'unknown kind'})"


def _driver_not_allowed(allowed: Sequence[str], driver: Optional[str] = None) -> str:
    return f"driver {driver or '(none)'} is not one of {', '.join(allowed)}"


def _bond(netdev: str, slaves: Sequence[str]) -> str:
    return f"{netdev} is a bond of {', '.join(slaves) or 'no netdev'}"


def _default_route(netdev: str, through: Optional[str] = None) -> str:
    return f"{netdev} carries the default route" + (f" through {through}" if through else "")


def _in_pod(netdev: Optional[str] = None) -> str:
    if netdev:
        return f"netdev {netdev} is in another network namespace (a pod's)"
    return "no netdev on the host: it is in a pod's network namespace or its driver is not loaded"


def _port_down(state: Optional[str] = None, physical_state: Optional[str] = None) -> str:
    detail = f", physical state {physical_state}" if physical_state else ""
    return f"port state is {state or 'unknown'}{detail}"


_SUBDEVICES = {"sf": "a sub-function", "smi": "the management interface of a plane"}


def _subdevice(hca: str, kind: str, parent: Optional[str] = None) -> str:
    return f"{hca} is {_SUBDEVICES.get(kind, 'a part')} of the HCA at {parent or 'an unknown address'}"


def _vf(pf_address: Optional[str] = None) -> str:
    return f"virtual function of {pf_address or 'an unknown PF'}"


_TEXTS: Dict[str, Callable[..., str]] = {
    BOND: _bond,
    BOND_SLAVE: "{netdev} is a slave of bond {master}".format,
    BRIDGE_PORT: "{netdev} is a port of bridge {master}".format,
    DEFAULT_ROUTE: _default_route,
    DEFAULT_ROUTE_UNKNOWN: "the routing tables cannot be read, so {netdev} may carry the default route".format,
    DRIVER_NOT_ALLOWED: _driver_not_allowed,
    IN_POD: _in_pod,
    NVSWITCH_MANAGEMENT: "{hca} manages the NVSwitches and is reserved for the Fabric Manager".format,
    PCI_UNKNOWN: "the PCI function of {hca} is unknown".format,
    PORT_DOWN: _port_down,
    # No reason against using it where it is.
    ROCE_LAG: ("{hca} is a RoCE LAG over the bond {netdev}: pods can share it, but it cannot be moved into one").format,
    SOFTWARE_DEVICE: _software_device,
    SUBDEVICE: _subdevice,
    TEAM_PORT: "{netdev} is a port of team {master}".format,
    VF: _vf,
}


def reason(code: str, **fields: Optional[FieldValue]) -> Reason:
    """A reason with its text. ``fields`` are those of the code; those that are ``None`` are omitted."""
    known = {name: value for name, value in fields.items() if value is not None}
    return Reason(code, _TEXTS[code](**known), known)
