# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this doc fragment is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

from __future__ import annotations


class ModuleDocFragment:
    """The option of the modules that work on a container runtime."""

    DOCUMENTATION = r"""
options:
  runtime:
    description:
      - Container runtime that runs the pods. V(auto) selects the running one or, if none is running, the installed
        one. It fails if there are several.
    type: str
    choices: [auto, containerd, k3s, rke2, crio]
    default: auto
"""
