# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The kinds of NVIDIA's Network Operator for a real API server.

The operator's newest Go module is v1.4.0, which has NicClusterPolicy and HostDeviceNetwork. The NicNodePolicy of
v26.4.0 is in no module: it is put together here from the components of that NicClusterPolicy, which is synthesised.
Where ``ZEROCOPY_NETWORK_OPERATOR_CRDS`` names the directory of a release's own definitions, all are from there.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Dict, List

import yaml
from vmlab.golang import go

Object = Dict[str, Any]
_MODULE = "github.com/Mellanox/network-operator@v1.4.0"
_COMPONENTS = ("ofedDriver", "rdmaSharedDevicePlugin", "sriovDevicePlugin")


def definitions(scratch: Path, node_policies: bool) -> List[Object]:
    """The CustomResourceDefinitions, with NicNodePolicy or without."""
    given = os.environ.get("ZEROCOPY_NETWORK_OPERATOR_CRDS")
    directory = Path(given) if given else _of_module(scratch)
    names = ["nicclusterpolicies", "hostdevicenetworks"]
    found = [_read(directory, name) for name in names]
    if node_policies:
        found.append(_read(directory, "nicnodepolicies") if given else _stand_in(found[0]))
    return found


def _of_module(scratch: Path) -> Path:
    """The directory of the module; the checksum database says that it is the one that everybody has."""
    answer = json.loads(go(scratch, "mod", "download", "-json", _MODULE))
    return Path(answer["Dir"]) / "deployment" / "network-operator" / "crds"


def _read(directory: Path, name: str) -> Object:
    found: Object = yaml.safe_load((directory / f"mellanox.com_{name}.yaml").read_text(encoding="utf-8"))
    # Left there by the tool that makes the definitions from Go.
    found.pop("status", None)
    return found


def _stand_in(policy: Object) -> Object:
    """Synthesised: what is known of the NicNodePolicy's fields, with the schemas of a NicClusterPolicy's."""
    version = policy["spec"]["versions"][0]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    own = {name: spec["properties"][name] for name in _COMPONENTS}
    own["nodeSelector"] = {"type": "object", "additionalProperties": {"type": "string"}}
    tolerated = {"type": "object", "properties": {name: {"type": "string"} for name in ("key", "operator", "effect")}}
    own["tolerations"] = {"type": "array", "items": tolerated}
    status = {"type": "object", "properties": {"state": {"type": "string"}}}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": own}, "status": status}}
    names = {"kind": "NicNodePolicy", "listKind": "NicNodePolicyList", "plural": "nicnodepolicies"}
    return {
        "apiVersion": policy["apiVersion"],
        "kind": policy["kind"],
        "metadata": {"name": "nicnodepolicies.mellanox.com"},
        "spec": {
            "group": "mellanox.com",
            "scope": "Cluster",
            "names": {**names, "singular": "nicnodepolicy"},
            "versions": [
                {
                    "name": "v1alpha1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                },
            ],
        },
    }
