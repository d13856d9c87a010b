# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What the kernel's command line would need for GPUs and NICs to reach each other: a proposal for a person.

Nothing of this collection carries it out: it takes a reboot, and isolation between devices.

Sources: Linux, Documentation/admin-guide/kernel-parameters.txt (``iommu``, ``iommu.passthrough``, ``pci``) and
drivers/pci/pci.c: options of ``pci=`` are separated by commas, devices of one of them by semicolons, and of several
``disable_acs_redir`` the last one counts, since Linux 4.19.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from typing import Any, Dict, List, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.pci import is_address

_PASSTHROUGH = "iommu=pt"
_GENERIC = "iommu.passthrough="
_TRUE = ("1", "y", "Y", "on", "On", "ON", "t", "T")
_ACS = "disable_acs_redir="
# An address, a path of them, or a vendor's device (pci:8086:347a).
_DEVICE = re.compile(r"(?:pci:)?[0-9A-Fa-f:./]+")


@dataclass
class BootProposal:
    """``present`` are the words about IOMMU and PCI that ``/proc/cmdline`` has, ``None`` where it is not known.

    ``remove`` are those of them that have to go, ``add`` what has to be there; both are empty where all is there.
    """

    present: Optional[List[str]] = None
    remove: List[str] = field(default_factory=list)
    add: List[str] = field(default_factory=list)

    def as_dict(self) -> Dict[str, Any]:
        return asdict(self)


def _passes_through(words: Sequence[str]) -> bool:
    """Whether these words ask for passthrough; the last one counts."""
    asked = False
    for word in words:
        if word.startswith(_GENERIC):
            asked = word[len(_GENERIC) :] in _TRUE
        elif word.startswith("iommu="):
            options = word[len("iommu=") :].split(",")
            asked = "pt" in options or (asked and "nopt" not in options)
    return asked


def _with_passthrough(found: BootProposal) -> None:
    words = found.present or []
    if _passes_through(words):
        return
    for word in words:
        options = word.partition("=")[2].split(",")
        if word.startswith(_GENERIC):
            found.remove.append(word)
        elif word.startswith("iommu=") and "nopt" in options:
            found.remove.append(word)
            rest = [option for option in options if option != "nopt"]
            found.add += [f"iommu={','.join(rest)}"] if rest else []
    found.add.append(_PASSTHROUGH)


def _without_redirection(found: BootProposal, bridges: Sequence[str]) -> None:
    named: List[str] = []
    others: List[str] = []
    words = [word for word in found.present or [] if word.startswith("pci=") and _ACS in word]
    for word in words:
        for option in word[len("pci=") :].split(","):
            if option.startswith(_ACS):
                # Of several, only the last counts; so do these.
                named = [device for device in option[len(_ACS) :].split(";") if _DEVICE.fullmatch(device)]
            elif option:
                others.append(option)
    wanted = list(dict.fromkeys([*named, *filter(is_address, bridges)]))
    if wanted != named:
        found.remove += words
        found.add.append(f"pci={','.join([*others, _ACS + ';'.join(wanted)])}")


def proposal(present: Optional[Sequence[str]], translated: bool, bridges: Sequence[str]) -> BootProposal:
    """For a node with x86 processors: whether addresses are ``translated``, and the ``bridges`` that redirect."""
    found = BootProposal(None if present is None else list(present))
    if translated:
        _with_passthrough(found)
    if bridges:
        _without_redirection(found, bridges)
    return found
