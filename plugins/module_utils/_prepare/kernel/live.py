# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!


"""What the running kernel says about its modules: /proc/modules and /sys/module."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.interfaces import IFF_UP
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files

_ARPHRD_INFINIBAND = "32"
_SOFTWARE = ("rdma_rxe", "siw")


@dataclass(frozen=True)
class Loaded:
    """A loaded module: its reference count, holders included, and which modules hold it."""

    references: int = 0
    holders: Tuple[str, ...] = ()
    permanent: bool = False


def modules_of(text: str) -> Dict[str, Loaded]:
    """All loaded modules by the text of /proc/modules (print_unload_info and m_show in kernel/module/procfs.c)."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) < 4:
            continue
        users = [user for user in words[3].split(",") if user not in ("", "-")]
        holders = tuple(user for user in users if not user.startswith("["))
        references = int(words[2]) if words[2].isdigit() else 0
        found[words[0]] = Loaded(references, holders, permanent=words[2] == "-" or len(holders) != len(users))
    return found


def loaded_modules(files: Files) -> Dict[str, Loaded]:
    """All loaded modules."""
    return modules_of(files.text("/proc/modules") or "")


def parameters(files: Files, keys: Iterable[str]) -> Dict[str, Optional[str]]:
    """Live values by ``module.parameter``. ``None`` for one the kernel does not show, nothing for an absent module."""
    values: Dict[str, Optional[str]] = {}
    for key in keys:
        module, _dot, parameter = key.partition(".")
        if not files.exists(f"/sys/module/{module}"):
            continue
        text = None
        with contextlib.suppress(HostError):
            text = files.text(f"/sys/module/{module}/parameters/{parameter}")
        values[key] = None if text is None else text.strip("\n")
    return values


def boot_id(files: Files) -> str:
    """The kernel's name for the time since it started, different after every reboot."""
    return (files.text("/proc/sys/kernel/random/boot_id") or "").strip()


def _bound(files: Files, module: str) -> List[str]:
    devices = []
    for driver in files.names(f"/sys/module/{module}/drivers"):
        directory = files.full(f"/sys/module/{module}/drivers/{driver}")
        links = (entry for entry in os.listdir(directory) if os.path.islink(os.path.join(directory, entry)))
        devices += [entry for entry in links if entry != "module"]
    return sorted(devices)


def _is_up(files: Files, netdev: str) -> bool:
    kind, flags = (files.text(f"/sys/class/net/{netdev}/{name}") or "0" for name in ("type", "flags"))
    return kind.strip() == _ARPHRD_INFINIBAND and bool(int(flags, 16) & IFF_UP)


def occupied(files: Files, module: str) -> Optional[str]:
    """Why unloading it would take something away that its reference count does not show; ``None`` when nothing."""
    devices = _bound(files, module)
    if devices:
        return "it drives {}".format(", ".join(devices))
    if module in _SOFTWARE:
        # Only software devices say which netdev they are on.
        names = files.names("/sys/class/infiniband")
        names = [name for name in names if files.exists(f"/sys/class/infiniband/{name}/parent")]
        return "RDMA device {} exists".format(", ".join(names)) if names else None
    if module == "ib_ipoib":
        names = [name for name in files.names("/sys/class/net") if _is_up(files, name)]
        return "{} is up".format(", ".join(names)) if names else None
    return None


def unloading(
    candidates: Sequence[str], loaded: Mapping[str, Loaded], why_not: Callable[[str], Optional[str]]
) -> Tuple[List[str], Dict[str, str]]:
    """Which of the candidates can be unloaded, in that order, and why each of the others stays."""
    rest = [module for module in candidates if module in loaded]
    order: List[str] = []
    kept: Dict[str, str] = {}
    while True:
        free = [module for module in rest if module not in kept and _unused(loaded[module], order)]
        for module in free:
            reason = "the kernel keeps it" if loaded[module].permanent else why_not(module)
            if reason is None:
                order.append(module)
                rest.remove(module)
                break
            kept[module] = reason
        else:
            break
    for module in rest:
        users = [user for user in loaded[module].holders if user not in order]
        kept.setdefault(module, "{} use it".format(", ".join(users)) if users else "it is in use")
    return order, kept


def _unused(module: Loaded, gone: Sequence[str]) -> bool:
    return module.references == sum(user in gone for user in module.holders)
