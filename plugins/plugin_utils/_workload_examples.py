# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Example workloads, and what pods of one's own need, from the plan of the cluster."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, Dict, List, Mapping, Sequence

from ansible.errors import AnsibleActionFail

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.content_hash import hashed
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import PodRequest
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.plain import plain
from ansible_collections.zerocopy.rdma.plugins.module_utils._workloads import examples
from ansible_collections.zerocopy.rdma.plugins.module_utils._workloads.pod import Settings
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _files, _inventory, _strategy_answers

# PCI vendor.
_AMD = "1002"


def _given(manifest: Dict[str, str]) -> examples.GivenManifest:
    try:
        text = Path(manifest["path"]).expanduser().read_text("utf-8")
    except (OSError, ValueError) as error:
        raise AnsibleActionFail(f"workloads: {manifest['path']} cannot be read: {error}") from error
    return examples.GivenManifest(text=text, **manifest)


def _amd(asks: Mapping[str, Sequence[PodRequest]], hostvars: Mapping[str, Mapping[str, Any]]) -> List[str]:
    """The groups of which every known GPU is one of AMD."""
    found = []
    for group, requests in asks.items():
        hosts = {host for request in requests for host in request.hosts if host in hostvars}
        facts = [_inventory.facts_of(hostvars[host])[0] for host in hosts]
        vendors = {gpu.pci.vendor_id for of_host in facts if of_host for gpu in of_host.gpus}
        if vendors == {_AMD}:
            found.append(group)
    return found


def made(options: Mapping[str, Any], hostvars: Mapping[str, Mapping[str, Any]]) -> Dict[str, Any]:
    """The examples, what is added to pods, and what is wrong."""
    objects, asks = _strategy_answers.read(options["plan"])
    names = {
        (kind, item["metadata"]["name"]): hashed(item["metadata"]["name"], item["spec"])
        for kind, item in examples.claim_specs(objects)
    }
    chosen = plain(options["settings"])
    chosen["environment"] = {name: str(value) for name, value in chosen.get("environment", {}).items()}
    given = [_given(plain(manifest)) for manifest in options["manifests"]]
    claims = examples.claims_of(objects, names)
    script = str(options["script"])
    settings = Settings(**chosen)
    return asdict(examples.workloads(asks, claims, settings, script, options["requests"], given, _amd(asks, hostvars)))


def written(options: Mapping[str, Any], context: Mapping[str, Any], check: bool) -> Dict[str, Any]:
    """The result of the action: with a directory, the examples are written there."""
    found = made(options, context["hostvars"])
    if found["problems"]:
        message = "\n".join(["No example was written. Fix this first:", *found["problems"]])
        return {"failed": True, "msg": message, "problems": found["problems"]}
    if not options["directory"]:
        return found
    directory = _files.artifact(options["directory"], context)
    files = {os.path.join(directory, example["path"]): example["content"] for example in found["examples"]}
    diffs = _files.changed(files, check)
    return {"changed": bool(diffs), "diff": diffs, **found}
