# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Names of kernel modules and of their parameters, and words of the kernel's command line."""

from __future__ import annotations

import re

_NAME = re.compile("[A-Za-z0-9_-]+")
_PARAMETER = re.compile("[A-Za-z0-9_.-]+")
_PCI_WORD = re.compile(
    r"(?:[a-z]+_)?iommu(?:\.[a-z_]+)?(?:=[A-Za-z0-9_.,:+-]*)?|pcie?(?:_[a-z_]+)?(?:=[A-Za-z0-9_.,:;/@=+-]*)?"
)
_PARAMETER_VALUE = re.compile("[^\"'\\\\#\\n\\r\\v\\f\\0\x85\u2028\u2029]+")


def is_name(text: str) -> bool:
    """A kernel module, written with ``-`` or ``_``."""
    return _NAME.fullmatch(text) is not None


def canonical(text: str) -> str:
    """The name of a kernel module, or of its parameter, as the kernel shows it: ``-`` and ``_`` are the same."""
    return text.replace("-", "_")


def is_parameter(text: str) -> bool:
    """A parameter of a kernel module."""
    return _PARAMETER.fullmatch(text) is not None


def is_parameter_value(text: str) -> bool:
    """Text that a line of modprobe.d(5) and the kernel's command line can hold."""
    return _PARAMETER_VALUE.fullmatch(text) is not None


def is_pci_word(text: str) -> bool:
    """A word of the kernel's command line about IOMMU or PCI. People copy these into a boot loader's configuration."""
    return _PCI_WORD.fullmatch(text) is not None
