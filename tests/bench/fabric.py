# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the cabling of a fleet costs from 50 to 400 nodes with 3,200 rails, in one run: facts, check, table and page.

The fleet is synthesised (fabric_site.py). Each part is the code that modules and actions call, on what the part before
it has made; ``action`` is all that the role does on the controller, files included. CPU is the least of some rounds, in
which the sizes take turns. Memory is the peak of what Python allocated beyond what the part was given (tracemalloc), in
a run of its own because that makes it slow.

The exit status is 1 if a node costs over 1.5 times as much in the largest fleet as in the smallest, or if an answer is
wrong: each fleet has twelve wrong cables, which must be named everywhere, and nothing else. LLDP does not show the two
of them that are between switches. With ``--simulate``, ibsim carries the largest fleet once, and the real opensm and
iblinkinfo read it (tests/cabling; needs root and mmdebstrap).
"""

from __future__ import annotations

import argparse
import csv
import functools
import gc
import io
import json
import re
import sys
import tempfile
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / place) for place in ("tests/fleet", "tests/lab", "build/collections")]

from ansible_collections.zerocopy.rdma.plugins.action import cabling as action
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric import check, expected, neighbours, report
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.check import Cabling
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.links import FabricLink
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.neighbours import Fabric, LldpAnswer, PortView
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Completed
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import iblinkinfo, lldp
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats import cabling as page
from ansible_collections.zerocopy.rdma.tests.bench import fabric_site
from ansible_collections.zerocopy.rdma.tests.bench.fabric_site import RAILS, Named
from ansible_collections.zerocopy.rdma.tests.cabling import machine, test_infiniband
from ansible_collections.zerocopy.rdma.tests.unit._fabric.site import Site
from ansible_collections.zerocopy.rdma.tests.unit.action_options import acted, play

SIZES = (50, 100, 200, 400)
MOST = 1.5
GROUP = "h100"
# The third-level cache of large server CPUs has some hundred MiB, of which a core uses a part.
_MORE_THAN_CACHES = 1 << 27
_RAILS = {f"mlx5_{rail}/1": rail for rail in range(RAILS)}
_FAILED_CELL = re.compile(r'<td class="fail" title="([^"]*)">')


class AnswerError(Exception):
    """What was named is not what is wrong."""


@dataclass
class Figures:
    """Of one part with one fleet: least seconds of CPU, and bytes at the peak."""

    cpu: float = float("inf")
    memory: int = 0


@dataclass
class Fleet:
    """What is given of one fleet, and what the parts have made of it so far. ``named`` are the wrong cables."""

    nodes: int
    site: Site
    named: set[Named]
    text: str
    heard: Mapping[str, str]
    facts: Mapping[str, Any]
    of_ethernet: Mapping[str, Any]
    csv: str
    scratch: Path
    made: dict[str | tuple[str, str], Any] = field(default_factory=dict)


def fleet(nodes: int, scratch: Path) -> Fleet:
    site, named = fabric_site.wrong(nodes)
    right = fabric_site.right(nodes)
    every = fabric_site.facts(right)
    fabric = Fabric([FabricLink(**each) for each in _asked(fabric_site.iblinkinfo(right))], {})
    wanted = expected.written(_views(every, fabric, {}))
    return Fleet(
        nodes,
        site,
        named,
        fabric_site.iblinkinfo(site),
        fabric_site.lldp(site),
        fabric_site.facts(site),
        fabric_site.facts(site, ethernet=True),
        wanted,
        scratch,
    )


def _asked(text: str) -> list[dict[str, Any]]:
    """The links that the module returns of a fabric."""
    (found,) = iblinkinfo.fabrics([iblinkinfo.FabricPort("mlx5_0", 1, "0x1")], lambda _port: (text, ""))
    links: list[dict[str, Any]] = found["links"]
    return links


def _views(facts: Mapping[str, Any], fabric: Fabric, heard: Mapping[str, LldpAnswer]) -> list[PortView]:
    silent = LldpAnswer()
    return [
        view
        for host, own in facts.items()
        for view in neighbours.of_host(host, GROUP, read.facts(own), _RAILS, fabric, heard.get(host, silent))
    ]


def of_iblinkinfo(of: Fleet) -> None:
    """On the node that asks, then on the controller, which checks what it is sent."""
    fabric = Fabric([read.typed(FabricLink, link) for link in _asked(of.text)], {})
    of.made["iblinkinfo"] = (_views(of.facts, fabric, {}), fabric)


def _said(text: str, _argv: Sequence[str], timeout: float = 60, stdin: str | None = None) -> Completed:
    """What lldpcli answers."""
    return Completed(0, text, "")


def of_lldp(of: Fleet) -> None:
    """The same for each node; Ethernet has no fabric that anybody could read."""
    heard = {}
    for host, text in of.heard.items():
        heard[host] = read.typed(LldpAnswer, lldp.ask(functools.partial(_said, text)))
    of.made["lldpd"] = (_views(of.of_ethernet, Fabric([], {}), heard), Fabric([], {}))


def checked(source: str) -> Callable[[Fleet], None]:
    def part(of: Fleet) -> None:
        of.made["cabling", source] = check.check(*of.made[source])

    return part


def checked_with_csv(of: Fleet) -> None:
    views, fabric = of.made["iblinkinfo"]
    of.made["cabling", "csv"] = check.check(views, fabric, expected.read(of.csv, of.facts, views, "cabling.csv"))


def table(of: Fleet) -> None:
    cabling = of.made["cabling", "iblinkinfo"]
    of.made["text"], of.made["plain"] = report.text(cabling, []), report.plain(cabling)


def drawing(of: Fleet) -> None:
    of.made["page"] = page.html(of.made["cabling", "iblinkinfo"], [], "1.0.0")


def whole(of: Fleet) -> None:
    """The tasks of the role on the controller, with the answer of the node that read the fabric."""
    of.made["acted"] = _acted(of.facts, _asked(of.text), of.csv, of.scratch)


def _acted(facts: Mapping[str, Any], links: list[dict[str, Any]], wanted: str, scratch: Path) -> dict[str, Any]:
    hostvars: dict[str, dict[str, Any]] = {
        host: {"inventory_hostname": host, "group_names": [GROUP], "ansible_facts": {"rdma": own}}
        for host, own in facts.items()
    }
    variables = play(hostvars, rdma_artifacts=str(scratch))
    (asks,) = acted(action, variables, part="first")["ports"]
    hostvars[asks]["__rdma_cabling_first"] = {"fabrics": [{"hca": "mlx5_0", "port": 1, "error": "", "links": links}]}
    acted(action, variables, part="second")
    (scratch / "expected.csv").write_text(wanted)
    files = {"json": "cabling.json", "csv": "cabling.csv", "html": "cabling.html"}
    return acted(action, variables, part="check", expected=str(scratch / "expected.csv") if wanted else "", **files)


PARTS: dict[str, Callable[[Fleet], None]] = {
    "facts of iblinkinfo": of_iblinkinfo,
    "facts of lldpd": of_lldp,
    "check by the majority": checked("iblinkinfo"),
    "check of Ethernet": checked("lldpd"),
    "check with a CSV": checked_with_csv,
    "table and JSON": table,
    "page": drawing,
    "action": whole,
}


def _named(cabling: Cabling) -> Counter[Named]:
    """What was named, as fabric_site.wrong has it."""
    return Counter(
        (
            fault.kind,
            fault.host,
            frozenset(fault.ports if fault.host else fault.text.partition(":")[0].split(" to ")),
        )
        for fault in cabling.faults
    )


def _same(what: str, found: Counter[Any], right: Counter[Any]) -> None:
    if found != right:
        raise AnswerError(
            f"{what}: missing {list((right - found).elements())}, too much {list((found - right).elements())}"
        )


def judged(of: Fleet) -> None:
    """Raises :class:`AnswerError`."""
    on_hosts = {each for each in of.named if each[1]}
    for source, named in (("iblinkinfo", of.named), ("csv", of.named), ("lldpd", on_hosts)):
        cabling = of.made["cabling", source]
        _same(f"{of.nodes} nodes, {source}", _named(cabling), Counter(named))
        _same(f"{of.nodes} nodes, {source}, unknown", Counter(cabling.unclear), Counter())
        ports = of.nodes * (RAILS + 1)
        _same(f"{of.nodes} nodes, {source}, ports", Counter(["port"] * len(cabling.views)), Counter(["port"] * ports))
    lines = [fault.line for fault in of.made["cabling", "iblinkinfo"].faults]
    shown = of.made["text"].partition(" faults:\n")[2].splitlines()
    _same(f"{of.nodes} nodes, table", Counter(line.strip() for line in shown), Counter(lines))
    _same(f"{of.nodes} nodes, JSON", Counter(each["text"] for each in of.made["plain"]["faults"]), Counter(lines))
    marked = Counter(fault.line for fault in of.made["cabling", "iblinkinfo"].faults for _port in fault.ports)
    _same(f"{of.nodes} nodes, page", Counter(_FAILED_CELL.findall(of.made["page"])), marked)
    with_csv = Counter(fault.line for fault in of.made["cabling", "csv"].faults)
    _same(f"{of.nodes} nodes, action", Counter(of.made["acted"]["faults"]), with_csv)
    differ = {row[:2] for row in _rows((of.scratch / "cabling.csv").read_text()) ^ _rows(of.csv)}
    moved = {(host, port) for _kind, host, ports in on_hosts for port in ports}
    _same(f"{of.nodes} nodes, cabling.csv", Counter(differ), Counter(moved))


def _rows(text: str) -> set[tuple[str, ...]]:
    return set(map(tuple, csv.reader(io.StringIO(text))))


def _bytes(part: Callable[[Fleet], None], of: Fleet) -> int:
    """Peak of a part. A collection empties Python's free lists, which are not seen."""
    gc.collect()
    tracemalloc.start()
    part(of)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def _seconds(part: Callable[[Fleet], None], of: Fleet) -> float:
    """CPU of a part in which nobody else's objects are looked through for garbage.

    Small fleets would find all of their objects in the CPU's caches, and large ones never do, so nobody does.
    """
    gc.collect()
    gc.freeze()
    b"1" * _MORE_THAN_CACHES  # written, so that it takes their place
    began = time.process_time()
    part(of)
    took = time.process_time() - began
    gc.unfreeze()
    return took


def measure(fleets: list[Fleet], rounds: int) -> dict[str, dict[int, Figures]]:
    """Figures of each part by number of nodes. Raises :class:`AnswerError`."""
    figures = {name: {of.nodes: Figures() for of in fleets} for name in PARTS}
    for of in fleets:
        for name, part in PARTS.items():
            figures[name][of.nodes].memory = _bytes(part, of)
        judged(of)
    for _round in range(rounds):
        for of in fleets:
            for name, part in PARTS.items():
                own = figures[name][of.nodes]
                own.cpu = min(own.cpu, _seconds(part, of))
    return figures


def shown(figures: dict[str, dict[int, Figures]], sizes: list[int]) -> bool:
    """Print the table; whether every part is linear."""
    print(f"{'':24}" + "".join(f"{f'{size} nodes':>18}" for size in sizes) + f"{'growth':>16}")
    print(f"{'':24}" + f"{'CPU s':>10}{'MiB':>8}" * len(sizes) + f"{'CPU':>9}{'memory':>7}")
    linear = True
    for name, by_size in figures.items():
        small, large = by_size[sizes[0]], by_size[sizes[-1]]
        times = sizes[-1] / sizes[0]
        growth = (large.cpu / small.cpu / times, large.memory / small.memory / times)
        cells = "".join(f"{own.cpu:10.3f}{own.memory / 2**20:8.1f}" for own in by_size.values())
        too_much = " <-" if max(growth) > MOST else ""
        print(f"{name:24}{cells}{growth[0]:9.2f}{growth[1]:7.2f}{too_much}")
        linear = linear and not too_much
    print(f"Growth is per node, of {sizes[-1]} nodes over {sizes[0]}: 1 is linear, {MOST:g} is allowed.")
    return linear


def simulated(nodes: int, scratch: Path) -> None:
    """The same wrong cables in ibsim's fabric. Raises :class:`AnswerError`."""
    site, named = fabric_site.wrong(nodes)
    began = time.monotonic()
    found = machine.run("simulate.py", site.ibsim())
    (fabric,) = found["fabrics"]
    if fabric["error"]:
        raise AnswerError(f"ibsim: {fabric['error']}")
    took, began = time.monotonic() - began, time.process_time()
    links = [FabricLink(**link) for link in fabric["links"]]
    guids = test_infiniband.guids(site, links)
    facts = fabric_site.facts(site, guids=guids)
    answer = _acted(facts, fabric["links"], "", scratch)
    cabling = check.check(_views(facts, Fabric(links, {}), {}), Fabric(links, {}))
    _same("ibsim", _named(cabling), Counter(named))
    _same("ibsim, action", Counter(answer["faults"]), Counter(fault.line for fault in cabling.faults))
    print(
        f"ibsim, {nodes} nodes: {len(links)} ends of links, ibsim, opensm and iblinkinfo took {took:.0f} s; "
        f"action {time.process_time() - began:.1f} s of CPU; the {len(named)} wrong cables and nothing else"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="timed rounds (%(default)s)")
    parser.add_argument("--nodes", type=int, nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--simulate", action="store_true", help="read the largest fleet from ibsim, too")
    parser.add_argument("--json", type=Path, help="file for the figures")
    options = parser.parse_args()
    sizes = sorted(set(options.nodes))
    with tempfile.TemporaryDirectory() as scratch:
        try:
            fleets = [fleet(size, Path(scratch)) for size in sizes]
            figures = measure(fleets, options.rounds)
            linear = shown(figures, sizes)
            print("At each size the twelve wrong cables were named, and nothing else.")
            if options.simulate:
                simulated(sizes[-1], Path(scratch))
        except AnswerError as error:
            print(f"bench-fabric: {error}", file=sys.stderr)
            return 1
    if options.json:
        plain = {name: {size: asdict(own) for size, own in by_size.items()} for name, by_size in figures.items()}
        options.json.write_text(json.dumps(plain, indent=1))
    return 0 if linear else 1


if __name__ == "__main__":
    sys.exit(main())
