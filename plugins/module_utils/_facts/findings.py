# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What discover concludes from the devices of a node: which ports workloads may use, and why not the others.

The texts are made in :mod:`reasons` and :mod:`warnings`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Union

# The code of a reason (_facts.reasons) that passes when the pod ends.
IN_POD = "in_pod"

# Of a reason or a warning.
FieldValue = Union[str, int, float, List[str]]


@dataclass
class Usable:
    """A port that may carry RDMA traffic for workloads."""

    hca: str
    port: int


@dataclass
class Reason:
    """Why a port is excluded: ``code`` and its ``fields`` for programs, ``text`` for people (``_facts.reasons``)."""

    code: str
    text: str
    fields: Dict[str, FieldValue] = field(default_factory=dict)


@dataclass
class Excluded:
    """A port that must not carry RDMA traffic for workloads, with every reason that applies."""

    hca: str
    port: int
    reasons: List[Reason] = field(default_factory=list)

    @property
    def only_in_pod(self) -> bool:
        """Whether nothing but a pod keeps the port away at the moment."""
        return {reason.code for reason in self.reasons} == {IN_POD}


@dataclass
class Warn:
    """Something a person should look at; ``subject`` is the device, port, GPU or file it is about.

    ``code`` and its ``fields`` are for programs, ``text`` is for people (``_facts.warnings``).
    """

    code: str
    subject: str
    text: str
    fields: Dict[str, FieldValue] = field(default_factory=dict)


@dataclass
class GpuAffinity:
    """Path class of one GPU to every HCA that has a place in PCIe, and the HCAs it should use."""

    gpu: int
    address: str
    paths: Dict[str, str] = field(default_factory=dict)
    nearest: List[str] = field(default_factory=list)
