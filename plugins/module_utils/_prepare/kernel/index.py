# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!


"""Which modules exist for a kernel: the lists that depmod(8) and the kernel's build leave in /lib/modules."""

from __future__ import annotations

import re
from typing import Container, Dict, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.config import soft_dependencies
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.kernel_module import canonical

_MODULES = "/lib/modules"


def _stem(path: str) -> str:
    return path.rsplit("/", 1)[-1].split(".ko", 1)[0]


class Index:
    """The modules of one kernel release. Nothing is read before it is needed: modules.dep has up to a megabyte."""

    def __init__(self, files: Files, release: str) -> None:
        self.files = files
        self.release = release
        self._texts: Dict[str, Optional[str]] = {}

    def _text(self, name: str) -> Optional[str]:
        if name not in self._texts:
            text = self.files.text(f"{_MODULES}/{self.release}/{name}")
            self._texts[name] = None if text is None else canonical(text)
        return self._texts[name]

    @property
    def complete(self) -> bool:
        """Whether the lists are there, so that a module that is in none of them does not exist."""
        return self._text("modules.dep") is not None or self._text("modules.builtin") is not None

    def builtin(self, module: str) -> bool:
        return re.search(rf"/{module}\.ko", self._text("modules.builtin") or "") is not None

    def dependencies(self, module: str) -> Optional[List[str]]:
        """What must be loaded before it, in loading order; ``None`` when there is no such module."""
        line = re.search(rf"^(?:.*/)?{module}\.ko[.a-z0-9]*:(.*)$", self._text("modules.dep") or "", re.M)
        return None if line is None else [_stem(path) for path in reversed(line.group(1).split())]

    def alias(self, name: str) -> Optional[str]:
        """The module that a name, which is no module's own, stands for."""
        line = re.search(rf"^alias {name} (\S+)$", self._text("modules.alias") or "", re.M)
        return None if line is None else line.group(1)

    def _soft(self, module: str) -> List[str]:
        line = re.search(rf"^softdep {module} (.*)$", self._text("modules.softdep") or "", re.M)
        return [] if line is None else soft_dependencies(line.group(1).split())

    def closure(
        self, modules: Sequence[str], present: Container[str], softdeps: Mapping[str, Sequence[str]]
    ) -> List[str]:
        """All that modprobe will load for these, dependencies first, without those ``present``.

        A soft dependency that does not exist is no error for modprobe, and is left out.
        """
        order: List[str] = []
        seen = set()

        def add(module: str) -> None:
            if module in seen or module in present:
                return
            seen.add(module)
            dependencies = self.dependencies(module)
            if dependencies is None:
                return
            for other in dependencies + self._soft(module) + list(softdeps.get(module, ())):
                add(other)
            order.append(module)

        for module in modules:
            add(module)
        return order


def installed(files: Files) -> List[str]:
    """Kernel releases with modules on this node."""
    return [name for name in files.names(_MODULES) if files.names(f"{_MODULES}/{name}")]


def index_of(files: Files) -> Optional[Index]:
    """The index to check names against: the running kernel's, or that of the only kernel below another root.

    ``None`` when it is not known which kernel the node will run.
    """
    if files.live:
        return Index(files, (files.text("/proc/sys/kernel/osrelease") or "").strip())
    indexes = [index for index in (Index(files, release) for release in installed(files)) if index.complete]
    return indexes[0] if len(indexes) == 1 else None
