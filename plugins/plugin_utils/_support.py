# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A support bundle of the hosts of a play: from what tasks have registered, and from reports of earlier runs."""

from __future__ import annotations

import json
import platform
import time
from typing import Any, Dict, Mapping, Set

from ansible.errors import AnsibleActionFail
from ansible.release import __version__ as ansible_version

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import drift as report_drift
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.support import archive, gathered
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.support.archive import Bundle
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.support.gathered import Gathered
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import writing
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.plain import plain
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _files, _inventory, _plan_files, _run

Map = Mapping[str, Any]

# What the tasks of the role have registered of each host: its file in the bundle, and the part of the result.
_REGISTERED = {
    "facts.json": ("__rdma_support_facts", "ansible_facts"),
    "drift.json": (report_drift.RESULT, "concerns"),
    "exporter.json": ("__rdma_support_figures", "figures"),
}
_NODE = "__rdma_support_node"
_TOO_DEEP = "it is nested too deeply to be read"


def _failure(result: Map, skipped: str = "not gathered") -> str:
    """Why there is nothing in a result of a task."""
    if result.get("unreachable") or result.get("failed"):
        return str(result.get("msg") or "the task has failed")
    if result.get("skipped"):
        return skipped
    return str(result.get("reason") or "there is none")


def _host(variables: Map, host: str, options: Map) -> Gathered:
    """What is known of a host, whatever it has sent."""
    sent = _inventory.raw(variables, _NODE) or {}
    if sent.get("unreachable"):
        return Gathered(missing={"everything": _failure(sent)})
    found = gathered.read(sent) if "files" in sent else Gathered(missing={"journal": _failure(sent)})
    for name, (variable, key) in _REGISTERED.items():
        result = _inventory.raw(variables, variable) or {"skipped": True}
        try:
            if result.get(key):
                found.add_data(name, plain(result[key]))
            else:
                found.missing[name] = _failure(result)
        except RecursionError:
            # A node's Python sends what it likes, and the other hosts are to have their bundle.
            found.missing[name] = _TOO_DEEP
    without = options["plan_failure"] or "nothing was planned"
    if options["plan"]:
        _read(found, _plan_files.path_of(options["plan"], host), "plan.json", set())
    else:
        found.missing["plan.json"] = without
        if "drift.json" in found.missing:
            found.missing["drift.json"] = without
    return found


def _read(found: Gathered, path: str, name: str, others: Set[str]) -> None:
    """A file of JSON on the controller, without what is about other hosts."""
    try:
        found.add_data(name, archive.only(json.loads(writing.read(path, follow=True)), others))
    except FileNotFoundError:
        found.missing[name] = f"there is no {path}"
    except RecursionError:
        found.missing[name] = f"{path}: {_TOO_DEEP}"
    except (OSError, ValueError) as error:
        found.missing[name] = f"{path} cannot be read: {error}"


def _controller(context: Map, options: Map, others: Set[str]) -> Gathered:
    found = Gathered()
    reports = (("verify", ("verify.json",)), ("health", ("health.json", "state.json")))
    for kind, names in reports:
        for name in names:
            target = f"{kind}/{name}"
            if options[kind]:
                _read(found, f"{_files.artifact(options[kind], context)}/{name}", target, others)
            else:
                found.missing[target] = f"rdma_{kind}_directory is not set"
    return found


def _cluster(sent: Map) -> Gathered:
    if "files" in sent:
        return gathered.read(sent)
    return Gathered(missing={"everything": _failure(sent, "rdma_cluster: none, so no API server was asked")})


def bundle(context: Map, options: Map, check: bool) -> Dict[str, Any]:
    """The result of the action: the archive is written, unless in check mode. Raises AnsibleActionFail."""
    hosts = [str(host) for host in context["ansible_play_hosts_all"]]
    others = {str(host) for host in context["groups"]["all"]} - set(hosts)
    now = int(time.time())
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    whole = Bundle(
        about={
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)),
            "collection": _run.collection_version(),
            "ansible": ansible_version,
            "python": platform.python_version(),
        },
        hosts={host: _host(context["hostvars"][host], host, options) for host in hosts},
        cluster=_cluster(plain(options["cluster"])),
        controller=_controller(context, options, others),
    )
    content = archive.files(whole, options["megabytes"] * 1_000_000)
    index = json.loads(content[archive.INDEX])
    name = f"rdma-support-{stamp}"
    path = f"{_files.artifact(options['directory'], context)}/{name}.tar.gz"
    if not check:
        try:
            writing.replace(path, archive.packed(name, content, now), mode=0o600, follow=True)
        except OSError as error:
            raise AnsibleActionFail(f"rdma_support_bundle_directory: {path} cannot be written: {error}") from error
    text = "\n".join(archive.summary(content, index, path, not check))
    return {"path": path, "text": text, "missing": index["missing"], "cut": index["cut"], "changed": False}
