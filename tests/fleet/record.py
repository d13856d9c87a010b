# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Records a machine for ``tests/fleet``: ``python3 tests/fleet/record.py --output DIR [--name NAME]``.

DIR/NAME looks like ``/`` of the machine, as far as facts read it; README.md says what is replaced and left out. The
facts of the recording are compared with those of the machine, and these with what lspci, nvidia-smi, rdma and ibstat
answer. Exit status: 0 no difference, 1 differences, 2 nothing recorded.

Reads only, and writes nothing outside of DIR. Needs Python 3.8 or newer and these files; root can read more.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import types
from pathlib import Path
from typing import Any, Dict, List, Optional

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lab")]

if "ansible_collections" not in sys.modules:
    # The library is a part of a collection; a copy of the checkout is found under that name without being in one.
    for package, places in (("", []), (".zerocopy", []), (".zerocopy.rdma", [str(HERE.parents[1])])):
        sys.modules[f"ansible_collections{package}"] = module = types.ModuleType(f"ansible_collections{package}")
        module.__path__ = places

from nodetree.tree import Tree
from recorder import audit, compare, devices, machine, tools, witnesses
from recorder.conceal import Conceal
from recorder.ip_addresses import TooManyAddressesError

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gather
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree as Source

MARKER = ".recorded"
LEFT_OUT = (
    "everything that facts do not read, and what only netlink tells",
    "configuration space of cards beyond 64 bytes, and of bridges what is not a known register",
    "Vital Product Data of all but ConnectX-7, and serial numbers in it",
    "node_desc of HCAs, physical addresses of BARs, unused GIDs beyond the first 16",
    "kernel messages that facts do not report, words of the kernel's command line other than those of IOMMU and PCI",
    "sockets other than NRI's, processes other than the container runtime",
)
KEPT = (
    "PCI addresses and ids, firmware versions, PSIDs, models, names of netdevs and HCAs",
    "LIDs, P_Keys, prefix lengths, host parts of IPv4 addresses, numbers of IPv6 subnets, vendors' parts of GUIDs",
    "kernel release, versions of drivers, counters, uptime and the time of boot",
)


class RecordError(Exception):
    """Nothing was recorded; the text says why."""


def _concealed(value: Any, conceal: Conceal) -> Any:
    """Facts with all replacements, also in names (``acs`` has PCI addresses there)."""
    if isinstance(value, dict):
        return {conceal.text(str(name)): _concealed(inner, conceal) for name, inner in value.items()}
    if isinstance(value, list):
        return [_concealed(inner, conceal) for inner in value]
    return conceal.text(value) if isinstance(value, str) else value


def _section(title: str, lines: List[str], none: str) -> str:
    return f"{title}\n" + "".join(f"  {line}\n" for line in lines or [none])


class Recorder:
    """One machine. ``root`` is ``/``, except in tests; ``call`` runs a tool."""

    def __init__(self, name: str, root: str = "/", call: tools.Run = tools.run) -> None:
        self._name, self._root, self._call = name, root, call
        self.out = Tree()
        self.differences: List[str] = []
        self.report = ""

    def record(self) -> None:
        """Reads everything. Raises RecordError if something of the originals would be written."""
        options = gather.GatherOptions(allow_software=True)
        live = gather.gather(self._root, options)
        source = Source(self._root)
        conceal = machine.conceal_for(source, live, self._name)
        machine.record(source, self.out, conceal)
        devices.record(source, self.out, conceal)
        facts = _concealed(live, conceal)
        answers = tools.answers(self._call, conceal)
        self.out.file(f"{MARKER}/facts.json", json.dumps(facts, indent=2, sort_keys=True))
        for name, answer in answers.items():
            if answer.text is not None:
                self.out.file(f"{MARKER}/{name}.txt", answer.text.encode())
        self._said, self._silent = witnesses.differences(facts, answers)
        self._facts, self._options, self._source, self._conceal = facts, options, source, conceal
        self._refuse_originals()

    def _refuse_originals(self) -> None:
        left = audit.found(self.out, self._conceal)
        if left:
            raise RecordError(
                f"identifiers of this machine would be in {', '.join(left[:5])}"
                + (f" and {len(left) - 5} more" if len(left) > 5 else "")
            )

    def write(self, place: Path) -> None:
        """Writes the recording to a directory that is not there yet, and compares what can be read there."""
        self.out.write(place)
        recorded = gather.gather(str(place), self._options)
        every = compare.facts(self._facts, recorded)
        faults = [str(difference) for difference in every if not difference.limit]
        self.differences = faults + self._said
        refused = sorted(f"{path}: {why}" for path, why in self._source.unreadable.items())
        kinds = {kind for kind, _spelling in self._conceal.originals()}
        system = facts_system(self._facts)
        self.report = "\n".join(
            [
                f"Recorded on Linux {platform.release()} ({platform.machine()}) "
                + ("by root." if os.geteuid() == 0 else "without root: what only root can read is missing."),
                f"Facts: {len(self._facts.get('gpus', []))} GPUs, {len(self._facts.get('hcas', []))} HCAs, {system}",
                "",
                _section("Differences between facts of the machine and of the recording:", faults, "none"),
                _section("Differences between facts and the tools:", self._said, "none"),
                _section("Tools that did not answer, with which facts were not compared:", self._silent, "none"),
                _section("What the recording cannot have:", [str(one) for one in every if one.limit], "none"),
                _section("Not readable:", [self._conceal.path(line) for line in refused], "none"),
                _section("Replaced:", sorted(kinds), "nothing"),
                _section("Left out of every recording:", list(LEFT_OUT), "nothing"),
                _section("Kept as it is:", list(KEPT), "nothing"),
            ]
        )
        (place / MARKER / "report.txt").write_text(self.report, encoding="utf-8")


def facts_system(facts: Dict[str, Any]) -> str:
    """NUMA nodes and kernel, in words."""
    system = facts.get("system", {})
    return f"NUMA nodes {system.get('numa_nodes')}, kernel {system.get('kernel')}"


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(description="Record this machine for tests/fleet, without what identifies it.")
    parser.add_argument("--output", required=True, type=Path, metavar="DIR", help="write DIR/NAME")
    parser.add_argument("--name", default="recorded-01", help="what the machine is called there (recorded-01)")
    options = parser.parse_args(arguments)
    place = options.output / options.name
    if place.exists():
        print(f"record.py: {place} is there already, choose another directory or name", file=sys.stderr)
        return 2
    recorder = Recorder(options.name)
    try:
        recorder.record()
        recorder.write(place)
    except (RecordError, TooManyAddressesError, OSError) as error:
        print(f"record.py: nothing recorded: {error}", file=sys.stderr)
        return 2
    print(recorder.report)
    print(f"{place}: {len(recorder.differences)} differences. Look at it before you give it away.")
    return 1 if recorder.differences else 0


if __name__ == "__main__":
    sys.exit(main())
