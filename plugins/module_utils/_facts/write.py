# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A node's facts as JSON; ``read`` is the way back."""

from __future__ import annotations

from typing import Any

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import MOST_CHARACTERS


def plain(value: Any) -> Any:
    """Classes of the model as dictionaries, their fields in order, and texts cut to the length that ``read`` accepts.

    ``dataclasses.asdict`` also copies each value, which is not needed here, and takes five times as long.
    """
    if isinstance(value, str):
        # An attribute is one page, a file may be longer.
        return value[:MOST_CHARACTERS]
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    return {name: plain(entry) for name, entry in vars(value).items()}
