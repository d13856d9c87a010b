# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The neighbours of this node's netdevs, by asking lldpd. Runs on nodes: Python 3.8, standard library."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Dict

from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric import lldp
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.neighbours import (
    LLDP_ABSENT,
    LLDP_RIGHTS,
    LLDP_STOPPED,
    LLDP_UNREADABLE,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import command
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError

_ASK = ("lldpcli", "-f", "json0", "show", "neighbors", "details")
_SECONDS = 60
_SAID_AT_MOST = 300
# ``strerror`` in lldpd's "unable to connect to socket" (src/ctl.c, src/client/lldpcli.c).
_REFUSALS = {
    "Permission denied": LLDP_RIGHTS,
    "No such file or directory": LLDP_STOPPED,
    "Connection refused": LLDP_STOPPED,
}


def ask(run: command.Runner = command.run) -> Dict[str, Any]:
    """``neighbours`` where lldpd answered; else ``code`` says why not, and ``said`` what lldpcli said."""
    try:
        done = run(_ASK, timeout=_SECONDS)
        if done.rc == command.NOT_INSTALLED:
            return {"code": LLDP_ABSENT, "said": "", "neighbours": []}
        if done.rc != 0:
            code = next((code for text, code in _REFUSALS.items() if text in done.err), LLDP_UNREADABLE)
            return {"code": code, "said": done.reason[:_SAID_AT_MOST], "neighbours": []}
        return {"code": "", "said": "", "neighbours": [asdict(each) for each in lldp.parse(done.out)]}
    except (HostError, lldp.LldpError) as error:
        return {"code": LLDP_UNREADABLE, "said": str(error)[:_SAID_AT_MOST], "neighbours": []}
