# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The kernel of a node: the one way in for modules."""

from __future__ import annotations

from typing import Any, Dict, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.command import Runner, run
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.apply import carry_out
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.options import request


def converge(options: Mapping[str, Any], check: bool, runner: Runner = run) -> Dict[str, Any]:
    """Bring the node to these options (read as ``options.SPEC`` says), or report the differences.

    Returns the module's result.

    :raises HostError: an option is wrong or cannot be met (nothing was changed then), or a tool failed.
    """
    return carry_out(Files(options["root"]), request(options), check, runner)
