# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Inside a machine: the concern ``links`` with options from standard input, as the module ``node`` calls it."""

from __future__ import annotations

import json
import sys
from typing import Any, Dict, Mapping, Optional

sys.path.insert(0, "/srv/collections")

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.converge import converge
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.request import SPEC
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError


def _complete(options: Mapping[str, Any], spec: Mapping[str, Any]) -> Dict[str, Any]:
    """With defaults, as Ansible fills them in."""

    def value(name: str, entry: Mapping[str, Any]) -> Any:
        given: Optional[Any] = options.get(name, entry.get("default"))
        if entry.get("elements") == "dict":
            return [_complete(one, entry["options"]) for one in given or ()]
        return given

    assert set(options) <= set(spec), set(options) - set(spec)
    return {name: value(name, entry) for name, entry in spec.items()}


def main() -> None:
    """Print the result, or why there is none."""
    asked = json.load(sys.stdin)
    try:
        result = converge(_complete(asked["options"], SPEC), asked["check"])
    except HostError as error:
        result = {"failed": True, "msg": str(error)}
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
