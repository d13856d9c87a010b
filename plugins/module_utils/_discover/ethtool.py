# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The rates that a netdev's driver supports, which only ethtool knows. Needs pyroute2 and the running kernel.

Of pyroute2 only the part that is needed is loaded. ``import pyroute2`` loads every protocol it knows, about 160
modules, and takes longer than the whole of this collection's work on a node. Its subpackages stand on their own, so
they are loaded below an empty parent package where the installed version allows it, and the ordinary way where not.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any, Dict, List, Optional, Sequence

_PACKAGES = ("pyroute2", "pyroute2.ethtool")
_PART = "pyroute2.ethtool.ioctl"


def _empty_package(name: str) -> Optional[ModuleType]:
    """A package of this name with the right path, whose own code has not run."""
    parent = sys.modules.get(name.rpartition(".")[0])
    if parent is None:
        spec = importlib.util.find_spec(name)
        path: List[str] = list((spec and spec.submodule_search_locations) or [])
    else:
        path = [entry + "/" + name.rpartition(".")[2] for entry in parent.__path__]
    if not path:
        return None
    package = ModuleType(name)
    package.__path__ = path
    return package


def _load_alone() -> Optional[ModuleType]:
    """Load the part below empty packages; these are gone again afterwards, so a later import gets the real ones."""
    if "pyroute2" in sys.modules:
        return None
    before = set(sys.modules)
    try:
        for name in _PACKAGES:
            package = _empty_package(name)
            if package is None:
                return None
            sys.modules[name] = package
        return importlib.import_module(_PART)
    except Exception:  # as in _load
        # This version's subpackages need their parents: leave nothing half-loaded behind.
        for name in set(sys.modules) - before:
            if name.startswith("pyroute2"):
                del sys.modules[name]
        return None
    finally:
        for name in _PACKAGES:
            if name not in before:
                sys.modules.pop(name, None)


def _load() -> Optional[ModuleType]:
    try:
        return _load_alone() or importlib.import_module(_PART)
    except Exception:
        # Not only ImportError: 0.9.1 and 0.9.2 install on Python 3.8 and then raise TypeError. Facts without the
        # highest rate are better than none.
        return None


@functools.lru_cache(maxsize=None)
def ethtool() -> Any:
    """pyroute2's module for ethtool's ioctl (``IoctlEthtool``, ``EthtoolError``), ``None`` where it is missing."""
    return _load()


def max_rates(netdevs: Sequence[str]) -> Dict[str, float]:
    """Highest rate in Gb/s that each netdev's driver lists as supported (``ETHTOOL_GLINKSETTINGS``).

    A netdev whose driver lists no link mode (virtual devices, IPoIB) is left out.
    """
    found: Dict[str, float] = {}
    library = ethtool() if netdevs else None
    if library is None:
        return found
    for name in netdevs:
        try:
            device = library.IoctlEthtool(name)
            supported = device.get_link_mode_masks(device.get_link_settings())[0]
        except (library.EthtoolError, OSError):
            continue
        bits = list(device.get_link_mode_bits(supported))
        if len(bits) < sum(bin(word).count("1") for word in supported):
            # The kernel knows faster modes than this pyroute2's table; guessing from the others would be wrong.
            continue
        rates = [int(digits) for digits in (_leading_digits(bit.name) for bit in bits) if digits]
        if rates:
            found[name] = max(rates) / 1000.0
    return found


def _leading_digits(mode: str) -> str:
    return mode[: next((i for i, char in enumerate(mode) if not char.isdigit()), len(mode))]
