# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Data in Python's own containers and texts."""

from __future__ import annotations

import json
from typing import Any, Dict


def plain(value: Any) -> Any:
    """Data as JSON has it, a copy.

    What comes from variables or was registered is in containers and texts of Ansible's own kinds, of which YAML, CEL
    and JMESPath know nothing, and which ``asdict`` cannot copy.
    """
    return json.loads(json.dumps(value))


def json_object(text: str) -> Dict[str, Any]:
    """What is in a file that has to be a JSON object. Raises ValueError."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the file is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise ValueError("the file is not a JSON object")
    return content
