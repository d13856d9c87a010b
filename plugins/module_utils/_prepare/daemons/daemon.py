# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A daemon on a node: where its files are, and what is wanted of it. A new one is a file such as ``inject``,
and an entry in ``every``.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Type, TypeVar

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import File
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files

_Configuration = TypeVar("_Configuration")


@dataclass(frozen=True)
class NodeDaemon:
    """Names and paths of a daemon, one file of Python that systemd runs.

    ``concern`` is its name, also that of its ledger. ``at_start`` are the keys of its configuration that it reads only
    when it starts, ``reported`` those of its status that the module returns. ``status`` is empty for one that the
    runtime does not know as an NRI plugin: it works once systemd says that it runs. One that ``rereads`` sees by itself
    that its configuration has changed.
    """

    concern: str
    unit: str
    program: str
    config: str
    at_start: Tuple[str, ...]
    status: str = ""
    reported: Tuple[str, ...] = ()
    rereads: bool = False

    @property
    def unit_path(self) -> str:
        return f"/etc/systemd/system/{self.unit}"

    @property
    def enabled(self) -> str:
        """What ``systemctl enable`` makes of WantedBy."""
        return f"/etc/systemd/system/multi-user.target.wants/{self.unit}"


@dataclass(frozen=True)
class DaemonRequest:
    """``program`` is ``None`` where only its ``digest`` (SHA-256) is known, which is enough to compare.

    ``config`` is the content of its configuration file, of an NRI plugin with the ``socket`` of the runtime, and
    ``unit`` the text of its unit. ``seconds`` are those to wait until it is registered.
    """

    daemon: NodeDaemon
    digest: str
    program: Optional[bytes]
    config: Mapping[str, Any]
    unit: str
    seconds: int = 30

    @property
    def socket(self) -> str:
        return str(self.config.get("socket", ""))

    def files(self, present: Files) -> List[File]:
        """The files as they should be. Without the program's content, one that is right is left as it is."""
        text = "" if self.program is None else self.program.decode("utf-8", "surrogateescape")
        if self.program is None:
            stored = present.stored(self.daemon.program)
            if stored is not None and hashlib.sha256(stored.content).hexdigest() == self.digest:
                text = stored.content.decode("utf-8", "surrogateescape")
        return [
            File(self.daemon.program, text, 0o755),
            File(self.daemon.config, json.dumps(self.config, indent=1, sort_keys=True) + "\n"),
            File(self.daemon.unit_path, self.unit),
        ]


def configured(
    daemon: NodeDaemon,
    files: Files,
    read: Callable[[str], _Configuration],
    unreadable: Type[Exception],
    nothing: _Configuration,
) -> _Configuration:
    """The configuration that an earlier run has written; one for which ``read`` raises says nothing: it is replaced."""
    try:
        return read(files.text(daemon.config) or "")
    except unreadable:
        return nothing


def beside(daemon: NodeDaemon, found: Dict[str, Any], wanted: bool) -> Dict[str, Any]:
    """The result of a daemon that a node may have beside another: what is said of it alone is under its name."""
    own = {name: found.pop(name) for name in ("unit", "service") if name in found}
    if wanted or found["changes"]:
        found[daemon.concern] = {"unit": daemon.unit, **own, "changes": found["changes"]}
    return found
