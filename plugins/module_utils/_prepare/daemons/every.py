# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The daemons that there are, by the names by which the plan asks for them.

Each is loaded only where it is wanted, or where a run before has left something of it.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, NamedTuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons import absent
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files


class DaemonKind(NamedTuple):
    """``converge`` takes options as ``spec`` has them, and returns the module's result."""

    spec: Mapping[str, Mapping[str, Any]]
    converge: Callable[[Mapping[str, Any], bool], Dict[str, Any]]


def _inject() -> DaemonKind:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons import inject

    return DaemonKind(inject.SPEC, inject.converge)


def _exporter() -> DaemonKind:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons import exporter

    return DaemonKind(exporter.SPEC, exporter.converge)


def _attributes() -> DaemonKind:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons import attributes

    return DaemonKind(attributes.SPEC, attributes.converge)


def _lldpd() -> DaemonKind:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons import lldpd

    return DaemonKind(lldpd.SPEC, lldpd.converge)


# What loads them. The names are also those of their ledgers.
DAEMONS: Mapping[str, Callable[[], DaemonKind]] = {
    "inject": _inject,
    "exporter": _exporter,
    "attributes": _attributes,
    "lldpd": _lldpd,
}


def spec(name: str, options: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """The specification of a daemon's options; what only says that it shall not be there is read without its own."""
    if options.get("state") == "absent" and options.keys() <= absent.SPEC.keys():
        return absent.SPEC
    return DAEMONS[name]().spec


def converge(name: str, options: Mapping[str, Any], check: bool) -> Dict[str, Any]:
    """Bring a daemon of the node to these options (read as ``spec`` says), or report the differences.

    :raises HostError: an option is wrong (nothing was changed then), or the daemon does not work.
    """
    if options["state"] == "absent":
        found = absent.nothing_of(absent.ledger_of(Files(options["root"]), name), check)
        if found is not None:
            return found
    return DAEMONS[name]().converge(options, check)
