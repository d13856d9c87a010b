# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What the host ring knows of one host, and how its findings become checks."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts, Hca, Port
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import addresses as links_addresses
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import host_links
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import ports as links_ports
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.limits import LAYER
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check, guarded
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.answers import REMEDY
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.address import Interface
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError

RING = "host"

Map = Mapping[str, Any]


@dataclass
class HostEvidence:
    """One host. ``facts`` are ``None`` where it gave none; ``values`` are its variables in their types.

    ``sent`` are the facts as it sent them, and ``malformed`` is what is wrong with them, where they cannot be used.

    ``drift`` is what a comparison said of each concern; one that was not compared is missing.
    ``reached`` is the result of ``rdma_reachability``, ``loopback`` that of
    ``rdma_bandwidth``, ``rounds`` its results in each round with the round's number. ``earlier`` are the
    facts from before all that, ``None`` where they were not gathered again since, and ``began`` is when it began
    (seconds since the epoch), ``None`` where nothing was tried. ``unusable`` has why answers that it sent
    cannot be used, and ``uncompared`` is why it could not be compared with its plan.
    """

    host: str
    group: str
    facts: Optional[Facts] = None
    values: Map = field(default_factory=dict)
    address: str = ""
    drift: Mapping[str, Map] = field(default_factory=dict)
    reached: Optional[Map] = None
    loopback: Optional[Map] = None
    rounds: List[Map] = field(default_factory=list)
    malformed: str = ""
    sent: Map = field(default_factory=dict)
    earlier: Optional[Facts] = None
    began: Optional[float] = None
    unusable: Sequence[str] = ()
    uncompared: str = ""

    def check(
        self, what: str, verdict: str, subject: str, text: str, remedy: str = "", mend: str = "", **evidence: Any
    ) -> Check:
        """A check of this host; ``what`` is the last part of its id."""
        return Check(RING, f"{RING}.{what}", self.host, self.group, subject, verdict, text, evidence, remedy, mend)

    def guarded(self, what: str, made: Callable[[], Iterable[Any]]) -> List[Any]:
        """What is made of this host, or else a finding that it cannot be; ``what`` is what cannot be judged then."""
        return guarded(made, lambda why: self.unanswered(f"{what} cannot be judged: {why}"))

    def unanswered(self, text: str) -> Check:
        return self.check("answers", "fail", "", text, REMEDY)

    @property
    def recorded(self) -> bool:
        """Whether a directory takes the place of the node's ``/``."""
        return bool(self.values.get("rdma_discover_root", "/") != "/")

    @cached_property
    def known(self) -> Facts:
        """The facts, empty ones where the host gave none."""
        return self.facts or Facts()

    @cached_property
    def usable(self) -> List[Tuple[str, int]]:
        return [(entry.hca, entry.port) for entry in self.known.usable]

    def ports(self) -> Iterator[Tuple[Hca, Port, str]]:
        """HCA, port and name (``mlx5_0/1``) of every usable port."""
        usable = self.usable
        for hca in self.known.hcas:
            for port in hca.ports:
                if (hca.name, port.number) in usable:
                    yield hca, port, f"{hca.name}/{port.number}"

    def port(self, name: str) -> Optional[Tuple[Hca, Port]]:
        """HCA and port of a name such as ``mlx5_0/1``, usable or not."""
        every = ((hca, port) for hca in self.known.hcas for port in hca.ports)
        return next(((hca, port) for hca, port in every if f"{hca.name}/{port.number}" == name), None)

    @cached_property
    def rails(self) -> Dict[int, str]:
        """Name of the port of each rail, also of one that is down: as planned, else usable ports in PCI order."""
        if self.facts is None:
            return {}
        every = links_ports.ports(self.facts)
        variable = self.values.get(links_ports.PORTS) or []
        counted = [self.values.get(name) for name in (links_addresses.RAILS, links_addresses.EXPECTED)]
        if variable or any(counted) or host_links.asked(self.values) is not None:
            try:
                wanted = links_addresses.number_of_rails(links_addresses.intent(self.values))
                planned = {rail: str(address.ip) for rail, address in self.addresses().items()}
                found = links_ports.rails_of(variable, every, wanted, planned, True, self.values.get(LAYER))
                return {rail: port.name for rail, port in found.items()}
            except PlanError:
                # Preflight reports the problem; the existing ports can still be checked.
                pass
        fit = links_ports.candidates(every, self.values.get(LAYER))
        usable = self.usable
        return dict(enumerate(port.name for port in fit if (port.hca, port.number) in usable))

    def addresses(self) -> Dict[int, Interface]:
        """The address that each rail should have. Raises PlanError."""
        return host_links.addresses(self.host, self.values)
