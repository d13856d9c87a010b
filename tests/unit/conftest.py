# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Make ``ansible_collections.zerocopy.rdma`` importable, wherever the checkout is."""

from __future__ import annotations

import sys
from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parents[2]

# Installed, or under ansible-test, the parents already have the right names.
if _CHECKOUT.parts[-3:] == ("ansible_collections", "zerocopy", "rdma"):
    _COLLECTIONS = _CHECKOUT.parents[2]
else:
    _COLLECTIONS = _CHECKOUT / "build" / "collections"
    _LINK = _COLLECTIONS / "ansible_collections" / "zerocopy" / "rdma"
    if not _LINK.exists():
        _LINK.parent.mkdir(parents=True, exist_ok=True)
        _LINK.symlink_to(_CHECKOUT)

sys.path.insert(0, str(_COLLECTIONS))
