# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the tools for PCI, GPUs and RDMA answer, without identifiers, and what is in their answers.

Formats: pciutils 3.9 (``ls-caps.c``), ``nvidia-smi`` of drivers 535 to 580, iproute2 6.1 (``rdma/dev.c``, ``link.c``),
infiniband-diags of rdma-core 50 (``ibstat.c``).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence

from .conceal import Conceal

COMMANDS: Dict[str, Sequence[str]] = {
    "lspci": ("lspci", "-Dnnvv"),
    "nvidia-smi-topo": ("nvidia-smi", "topo", "-m"),
    "nvidia-smi-gpus": ("nvidia-smi", "--query-gpu=pci.bus_id,name,uuid", "--format=csv,noheader"),
    "rdma-dev": ("rdma", "-j", "dev", "show"),
    "rdma-link": ("rdma", "-j", "link", "show"),
    "rdma-system": ("rdma", "-j", "system", "show"),
    "ibstat": ("ibstat",),
}
_SECONDS = 60
# Of lspci, only lines in which nothing identifies a card.
_LSPCI = re.compile(
    r"^[0-9a-f]{4,8}:[0-9a-f]{2}:|^\s+(?:NUMA node:|IOMMU group:|LnkCap:|LnkSta:|ACSCtl:|Kernel driver in use:)"
)


@dataclass
class Answer:
    """``text`` is ``None`` where there is none; ``problem`` says why."""

    text: Optional[str] = None
    problem: str = ""


Run = Callable[[Sequence[str]], Answer]


def run(command: Sequence[str]) -> Answer:
    """Runs a tool that only reads."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    try:
        done = subprocess.run(
            command,
            env={"PATH": path, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        return Answer(problem="not installed")
    except (OSError, subprocess.TimeoutExpired) as error:
        return Answer(problem=str(error))
    if done.returncode:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
        return Answer(problem=f"exit status {done.returncode}" + (f": {said[-1]}" if said else ""))
    return Answer(done.stdout.decode("utf-8", "replace"))


def answers(call: Run, conceal: Conceal) -> Dict[str, Answer]:
    """The answer of each tool, by the name of its file in the recording."""
    found = {}
    for name, command in COMMANDS.items():
        answer = call(command)
        if answer.text is not None and name == "lspci":
            answer = Answer("".join(f"{line}\n" for line in answer.text.splitlines() if _LSPCI.match(line)))
        text = None if answer.text is None else conceal.text(answer.text)
        found[name] = Answer(text, conceal.text(answer.problem, every_quad=True))
    return found


@dataclass
class LspciFunction:
    """``None`` where lspci does not say; ``acs`` is whether peer-to-peer traffic is redirected."""

    vendor: str = ""
    device: str = ""
    driver: Optional[str] = None
    numa_node: Optional[int] = None
    speed_gts: Optional[float] = None
    width: Optional[int] = None
    acs: Optional[bool] = None


_HEAD = re.compile(r"^([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) .*\[([0-9a-f]{4}):([0-9a-f]{4})\]")
_LINK = re.compile(r"LnkSta:\s+Speed ([0-9.]+)GT/s(?: \(\w+\))?, Width x([0-9]+)")
_ACS = ("ReqRedir+", "CmpltRedir+", "EgressCtrl+")


def lspci(text: str) -> Dict[str, LspciFunction]:
    """By PCI address."""
    found: Dict[str, LspciFunction] = {}
    last = LspciFunction()
    for line in text.splitlines():
        head, link = _HEAD.match(line), _LINK.search(line)
        key, _colon, value = line.strip().partition(":")
        if head:
            last = found.setdefault(head.group(1), LspciFunction(head.group(2), head.group(3)))
        elif link:
            last.speed_gts, last.width = float(link.group(1)), int(link.group(2)) or None
        elif key == "NUMA node":
            last.numa_node = int(value)
        elif key == "Kernel driver in use":
            last.driver = value.strip()
        elif key == "ACSCtl":
            last.acs = any(flag in value.split() for flag in _ACS)
    return found


def gpus(text: str) -> Dict[str, Dict[str, str]]:
    """Name and UUID by PCI address, in nvidia-smi's order."""
    found = {}
    for line in text.splitlines():
        fields = [field.strip() for field in line.split(",")]
        if len(fields) == 3:
            domain, _colon, rest = fields[0].lower().partition(":")
            found[f"{int(domain, 16):04x}:{rest}"] = {"name": fields[1], "uuid": fields[2]}
    return found


def numa_affinity(text: str) -> List[Optional[int]]:
    """The column ``NUMA Affinity`` of ``nvidia-smi topo -m``, of each GPU; ``None`` for N/A and a range."""
    lines = [line.split("\t") for line in re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()]
    heading = next((cells for cells in lines if "NUMA Affinity" in [cell.strip() for cell in cells]), None)
    if heading is None:
        return []
    column = [cell.strip() for cell in heading].index("NUMA Affinity")
    rows = [cells for cells in lines if re.fullmatch("GPU[0-9]+", cells[0].strip())]
    values = [cells[column].strip() if len(cells) > column else "" for cells in rows]
    return [int(value) if value.isdigit() else None for value in values]


def rdma(text: str) -> List[Dict[str, Any]]:
    """The objects that ``rdma -j`` prints; nothing where there is no device."""
    found = [entry for entry in json.loads(text or "[]") if isinstance(entry, dict) and entry]
    for entry in (entry for entry in found if "ifname" in entry):
        # Before iproute2 5.1, the name of a port has its number in it.
        entry["ifname"] = str(entry["ifname"]).partition("/")[0]
    return found


@dataclass
class IbstatPort:
    """Words of ``ibstat`` by what is before the colon."""

    hca: str
    number: int
    values: Dict[str, str]
    of_hca: Dict[str, str]


# Type of the node and name: CA, iWARP RNIC, ...
_OF_IBSTAT = re.compile(r"\S[^']*'(.*)'$")


def ibstat(text: str) -> List[IbstatPort]:
    found: List[IbstatPort] = []
    hca, of_hca = "", {}  # type: str, Dict[str, str]
    values = of_hca
    for line in text.splitlines():
        name, port = _OF_IBSTAT.match(line), re.match(r"\s+Port ([0-9]+):\s*$", line)
        key, colon, value = line.strip().partition(":")
        if name:
            hca, of_hca = name.group(1), {}
            values = of_hca
        elif port:
            values = {}
            found.append(IbstatPort(hca, int(port.group(1)), values, of_hca))
        elif colon:
            values[key] = value.strip()
    return found
