# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The daemons that there are, by the names by which the plan asks for them."""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, NamedTuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons import (
    attributes,
    exporter,
    inject,
    lldpd,
)


class DaemonKind(NamedTuple):
    """``converge`` takes options as ``spec`` has them, and returns the module's result."""

    spec: Mapping[str, Mapping[str, Any]]
    converge: Callable[[Mapping[str, Any], bool], Dict[str, Any]]


DAEMONS: Mapping[str, DaemonKind] = {
    inject.DAEMON.concern: DaemonKind(inject.SPEC, inject.converge),
    exporter.DAEMON.concern: DaemonKind(exporter.SPEC, exporter.converge),
    attributes.DAEMON.concern: DaemonKind(attributes.SPEC, attributes.converge),
    lldpd.DAEMON.concern: DaemonKind(lldpd.SPEC, lldpd.converge),
}
