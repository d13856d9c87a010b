# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The Python packages that the controller needs besides ansible-core: those of ``requirements.txt``."""

from __future__ import annotations

import sys
from importlib.util import find_spec

# By the module that is imported.
PACKAGES = {
    "cel_expr_python": "cel-expr-python",
    "jmespath": "jmespath",
    "kubernetes": "kubernetes",
    "netaddr": "netaddr",
}


def missing(module: str) -> str:
    """What to say where this module cannot be imported: all packages that are missing, or the next run fails again."""
    lacking = [package for name, package in PACKAGES.items() if name == module or find_spec(name) is None]
    python = sys.executable or "python3"
    return f"missing where Ansible runs: {', '.join(lacking)}. Run {python} -m pip install {' '.join(lacking)}"
