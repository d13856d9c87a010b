# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Example workloads, and what pods of one's own need, from the plan of the cluster."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any, Dict, List, Mapping, Sequence, Set, Tuple

from ansible.errors import AnsibleActionFail

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import fleet_wide, variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import AMD
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import addresses, reachability
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.content_hash import hashed
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import PodRequest
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.plain import plain
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, messages
from ansible_collections.zerocopy.rdma.plugins.module_utils._workloads import examples, expected, requests
from ansible_collections.zerocopy.rdma.plugins.module_utils._workloads.pod import Settings
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _files, _inventory, _strategy_answers

_ABOUT_RAILS = (reachability.REACHABILITY, addresses.RAIL_SUBNETS, addresses.RAILS, addresses.EXPECTED)


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


def _rails(
    offered: Mapping[str, Sequence[PodRequest]], hostvars: Mapping[str, Mapping[str, Any]], play: Mapping[str, Any]
) -> Tuple[Dict[str, str], List[str]]:
    """By group which rails reach each other, and what is wrong with what its hosts say of it."""
    known = variables.options_of()
    found: Dict[str, str] = {}
    problems: List[str] = []
    for group, of_group in offered.items():
        said: Set[str] = set()
        hosts: List[Tuple[str, Dict[str, Any]]] = []
        for host in sorted({host for request in of_group for host in request.hosts if host in hostvars}):
            own, _broken = _inventory.of_host(hostvars[host], play, _ABOUT_RAILS.__contains__)
            values, _problems = variables.converted(own, known)
            try:
                said.add(expected.rails_of(values))
            except PlanError as error:
                problems.append(f"{host}: {error}")
            else:
                hosts.append((host, values))
        if len(said) > 1:
            problems += _different(group, hosts)
        found[group] = min(said, default="")
    return found, problems


def _different(group: str, hosts: fleet_wide.Hosts) -> List[str]:
    """Of the variables that say which rails reach each other, the first one that hosts of a group differ in."""
    each = (list(fleet_wide.different(name, hosts, None, f" of group {group}")) for name in _ABOUT_RAILS)
    return messages(next((found for found in each if found), []))


def made(
    options: Mapping[str, Any],
    hostvars: Mapping[str, Mapping[str, Any]],
    play: Mapping[str, Any] = MappingProxyType({}),
) -> Dict[str, Any]:
    """The examples, what is added to pods, and what is wrong. ``play`` is what a play says of all hosts."""
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
    rails, problems = _rails(offered, hostvars, play)
    if problems:
        return asdict(examples.Workloads(problems=problems))
    chosen_requests = options["requests"]
    found = examples.workloads(offered, claims, settings, script, chosen_requests, given, amd, least, mtus, rails)
    return asdict(found)


def written(options: Mapping[str, Any], context: Mapping[str, Any], check: bool) -> Dict[str, Any]:
    """The result of the action: with a directory, the examples are written there."""
    hostvars = context["hostvars"]
    found = made(options, hostvars, _inventory.of_play(context, hostvars))
    if found["problems"]:
        message = "\n".join(["No example was written. Fix this first:", *found["problems"]])
        return {"failed": True, "msg": message, "problems": found["problems"]}
    if not options["directory"]:
        return found
    directory = _files.artifact(options["directory"], context)
    files = {os.path.join(directory, example["path"]): example["content"] for example in found["examples"]}
    diffs = _files.changed(files, check)
    return {"changed": bool(diffs), "diff": diffs, "paths": list(files), **found}
