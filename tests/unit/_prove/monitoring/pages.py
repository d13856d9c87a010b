# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Pages of the exporter of one node, which renders what a look has found (synthesised), and what health says of it."""

from __future__ import annotations

import datetime
import re
import socket
from typing import Any, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter import daemon, figures
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.configuration import Configuration, Rail
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.pods import Container, Pod, Pods
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import health_policy, variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health import figures as health_figures
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health import look
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.document import document
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.look import FleetLook
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.metrics import metrics
from ansible_collections.zerocopy.rdma.tests.unit._prove.nodes import node
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._exporter.readings import hca, known

HOST, GROUP = "h100-01", "h100"
# The network namespace of a pod: what is known of a NIC there, only the exporter knows.
POD = 4026532352
RATE_GBPS = 400
PCIE = {"current_speed": 32e9, "max_speed": 32e9, "current_width": 16, "max_width": 16}
_DEFAULTS = variables.defaults(variables.with_prefix(health_policy.PREFIX, variables.options_of()))
_SAMPLE = re.compile(r"^((\w+)(?:\{(.*)\})?) (\S+)$")

_LOOKED = "rdma_exporter_last_look_timestamp_seconds"

Reading = dict[str, Any]
# Of a PCI address and a kind, how often the kernel has reported it, and whether it is not over.
Faults = Mapping[tuple[str, str], tuple[int, bool]]


def nic(number: int, layer: str = "InfiniBand", port: Mapping[str, Any] | None = None, **own: Any) -> Reading:
    """A NIC in a pod; it is well, but for what is given."""
    counters = dict.fromkeys(
        ("symbol_error", "link_error_recovery", "port_rcv_errors", "port_xmit_discards", "link_downed"), 0
    )
    counters.update(dict.fromkeys(("excessive_buffer_overrun_errors", "local_link_integrity_errors"), 0))
    found: dict[str, Any] = {"link_layer": layer, "netdev": f"ib{number}", "counters": counters}
    if layer == "InfiniBand":
        found.update(lid=number + 1, sm_lid=1, sm_sl=0)
    found["hw"] = {"local_ack_timeout_err": 0, "np_cnp_sent": 3}
    made = {"pci": f"0000:{number + 16:02x}:00.0", "pcie": PCIE, "place": POD, **own}
    return hca(f"mlx5_{number}", port={**found, **(port or {})}, **made)


# A pod that holds the first NIC.
POD_OF_FIRST = Pods({"s": Pod("vllm-0", "llm", "/run/netns/a", POD)}, {"c": Container("main", "s", ("231:192",))})


def full(node: Node, looks: int = 0) -> str:
    """A page with everything that an exporter tells: each state and link layer, sensors, a pod, faults, what hangs.

    All that it counts grows with the number of ``looks``.
    """
    congestion = ("np_cnp_sent", "rp_cnp_handled", "np_ecn_marked_roce_packets", "out_of_sequence")
    hardware = dict.fromkeys((*congestion, "local_ack_timeout_err"), looks)
    data = dict.fromkeys((*nic(0)["ports"]["1"]["counters"], "port_rcv_data", "port_xmit_data"), looks)
    stats = {"stats": {"pfc/rx/3": looks}, "hw": hardware}
    sensors = [["temp", "asic", 50.0], ["power", "asic", 20.0]]
    others = [nic(number, port={"state_id": state}) for number, state in ((2, 2), (3, 3), (4, 5))]
    return node.page(
        *others,
        nic(0, sensors=sensors, port={"counters": data}),
        nic(1, "Ethernet", port={**stats, "state_id": 1, "physical_state_id": 3, "counters": data}),
        faults={("0000:10:00.0", "hca_unhealthy"): (1, True)},
        hung=["hca:mlx5_9"],
        pods=POD_OF_FIRST,
    )


class Node:
    """The exporter of a node whose rails are these HCAs; it does not run."""

    def __init__(self, rails: int, **own: Any) -> None:
        named = tuple(Rail(str(number), f"mlx5_{number}", 1, "") for number in range(rails))
        config = Configuration(
            directory="/nowhere", host=HOST, group=GROUP, rails=named, rate_gbps=float(RATE_GBPS), **own
        )
        self._wake, self._waker = socket.socketpair()
        self._exporter = daemon.Exporter(config, "/nowhere", self._wake)

    def page(
        self, *hcas: Reading, faults: Faults | None = None, hung: Sequence[str] = (), pods: Pods | None = None
    ) -> str:
        """What it publishes after a look that has found these."""
        made = self._exporter
        made._known = known(*hcas)
        made._known.pods = pods or Pods({}, {})
        made._history.look(made._known.hcas, set())
        made._kernel.heard = True
        for key, (count, active) in (faults or {}).items():
            made._kernel.counts[key] = count
            (made._kernel.active.add if active else made._kernel.active.discard)(key)
        return made._metrics(set(hung))


def samples(page: str) -> dict[str, str]:
    """The value of each series, by its name and labels as they are written."""
    found = (_SAMPLE.match(line) for line in page.splitlines() if not line.startswith("#"))
    return {match[1]: match[4] for match in found if match}


def names(page: str) -> set[str]:
    """The metrics of a page."""
    return {series.partition("{")[0] for series in samples(page)}


def looked(page: str, facts: Mapping[str, Any]) -> FleetLook:
    """What health finds on a host whose NICs are all in pods, and known by this page alone."""
    away = {**facts, "hcas": [], "usable": [], "excluded": [], "warnings": [], "affinity": []}
    (seen,) = [value for series, value in samples(page).items() if series.startswith(_LOOKED)]
    now = float(seen)
    told = health_figures.read(figures.read(page, now))
    ports = [{"hca": name} for name in sorted({name.partition("/")[0] for name in told.ports})] if told else []
    values = {
        **_DEFAULTS,
        "rdma_links_ports": [each for each in ports if _is_rail(page, each["hca"])],
        "rdma_discover_expect_rate_gbps": RATE_GBPS,
    }
    evidence = node(away, HOST, GROUP, **values)
    return look.look([evidence], {}, int(now), {HOST: told})


def said(page: str, facts: Mapping[str, Any]) -> list[Check]:
    """What health, by the checks of verify, says of it."""
    return looked(page, facts).checks


def of_health(page: str, facts: Mapping[str, Any]) -> str:
    """The metrics of health, where each sick NIC has a rule."""
    found = looked(page, facts)
    rules = [{"host": HOST, "nic": nic.key, "effect": "NoSchedule"} for nic in found.nics]
    outcomes = [{"host": HOST, "nic": nic.key, "outcome": "tainted"} for nic in found.nics]
    tainted = {"api_version": "resource.k8s.io/v1", "rules": rules, "outcomes": outcomes, "problems": [], "notes": []}
    (seen,) = [value for series, value in samples(page).items() if series.startswith(_LOOKED)]
    at = datetime.datetime.fromtimestamp(float(seen), datetime.timezone.utc)
    return metrics(document(found, tainted, at.isoformat(timespec="seconds"), "1.0.0"))


def _is_rail(page: str, device: str) -> bool:
    return any(
        series.startswith(f'rdma_port_info{{device="{device}"') and 'rail=""' not in series for series in samples(page)
    )
