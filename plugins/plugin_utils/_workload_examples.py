# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Example workloads, and what pods of one's own need, from the plan of the cluster."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, Dict, Mapping, Sequence

from ansible.errors import AnsibleActionFail

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import AMD
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.content_hash import hashed
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import PodRequest
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.plain import plain
from ansible_collections.zerocopy.rdma.plugins.module_utils._workloads import examples, expected, requests
from ansible_collections.zerocopy.rdma.plugins.module_utils._workloads.pod import Settings
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _files, _inventory, _strategy_answers


def _given(manifest: Dict[str, str]) -> examples.GivenManifest:
    try:
        text = Path(manifest["path"]).expanduser().read_text("utf-8")
    except (OSError, ValueError) as error:
        raise AnsibleActionFail(f"workloads: {manifest['path']} cannot be read: {error}") from error
    return examples.GivenManifest(text=text, **manifest)


def _facts(
    offered: Mapping[str, Sequence[PodRequest]], hostvars: Mapping[str, Mapping[str, Any]]
) -> Dict[str, Dict[str, Facts]]:
    """By group and host the facts of those of its nodes that are known."""
    found: Dict[str, Dict[str, Facts]] = {}
    for group, of_group in offered.items():
        hosts = {host for request in of_group for host in request.hosts if host in hostvars}
        every = {host: _inventory.facts_of(hostvars[host])[0] for host in sorted(hosts)}
        found[group] = {host: facts for host, facts in every.items() if facts}
    return found


def made(options: Mapping[str, Any], hostvars: Mapping[str, Mapping[str, Any]]) -> Dict[str, Any]:
    """The examples, what is added to pods, and what is wrong."""
    objects, offered = _strategy_answers.read(options["plan"])
    names = {
        (kind, item["metadata"]["name"]): hashed(item["metadata"]["name"], item["spec"])
        for kind, item in examples.claim_specs(objects)
    }
    chosen = plain(options["settings"])
    chosen["environment"] = {name: str(value) for name, value in chosen.get("environment", {}).items()}
    given = [_given(plain(manifest)) for manifest in options["manifests"]]
    claims = examples.claims_of(objects, names)
    script = plain(options["script"])
    # Without a value, a template may be an empty text.
    chosen["gpus"] = None if chosen.get("gpus") in (None, "") else int(chosen["gpus"])
    settings, facts = Settings(**chosen), _facts(offered, hostvars)
    gpus = {group: [of_host.gpus for of_host in hosts.values() if of_host.gpus] for group, hosts in facts.items()}
    amd = [group for group, nodes in gpus.items() if {requests.vendor(gpu) for own in nodes for gpu in own} == {AMD}]
    least = {group: min(map(len, nodes)) for group, nodes in gpus.items() if nodes}
    mtus = {
        group: {request.name: expected.mtu_of_nodes(request, facts[group]) for request in of_group}
        for group, of_group in offered.items()
    }
    found = examples.workloads(offered, claims, settings, script, options["requests"], given, amd, least, mtus)
    return asdict(found)


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
    return {"changed": bool(diffs), "diff": diffs, "paths": list(files), **found}
