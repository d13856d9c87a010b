# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""One look of health at all hosts: what variables, facts and tasks say of them, and what earlier looks have left."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible.errors import AnsibleActionFail

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import health_policy
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health import document as documents
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health import figures, memory
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health import look as looks
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.figures import Figures
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.memory import Memory
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.metrics import metrics
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.page import html
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.table import failure, table
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.evidence import HostEvidence
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import state_version, writing
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.plain import plain
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import (
    _files,
    _inventory,
    _run,
    _verify_inventory,
    _verify_run,
)

Map = Mapping[str, Any]

_KEPT = "health"
_DIRECTORY = "rdma_health_directory"
_rank = health_policy.EFFECTS.index


def _read(path: str) -> Memory:
    """What earlier looks have left there. Raises AnsibleActionFail for what none of them can have written."""
    try:
        return memory.read(writing.read(path, follow=True).decode())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise AnsibleActionFail(f"{_DIRECTORY}: {path} cannot be read: {error}") from error
    except state_version.NewerVersionError as error:
        raise AnsibleActionFail(f"{_DIRECTORY}: {path} {error}. Nothing was changed") from None
    except ValueError as error:
        way = (
            "restore it, or remove it to begin anew; rules that exist stay until their NICs are known to be well again"
        )
        raise AnsibleActionFail(f"{_DIRECTORY}: {path} {error}: {way}. Nothing was changed") from None


def _nodes(context: Map, hosts: Sequence[str]) -> List[HostEvidence]:
    options = plan_variables.with_prefix(health_policy.PREFIX, plan_variables.options_of())
    defaults = plan_variables.defaults(options)
    found = _verify_inventory.nodes(context, hosts, context["hostvars"])
    return [replace(node, values={**defaults, **node.values}) for node in found]


def _figures(context: Map, nodes: Sequence[HostEvidence]) -> Tuple[Dict[str, Optional[Figures]], List[str]]:
    """By host the figures of its exporter, and what is wrong with those that cannot be used."""
    told: Dict[str, Optional[Figures]] = {}
    notes: List[str] = []
    for node in nodes:
        sent = _inventory.raw(context["hostvars"][node.host], "__rdma_health_figures") or {}
        reason = str(sent.get("reason") or "")
        try:
            told[node.host] = figures.read(sent.get("figures"))
            if sent.get("figures") and told[node.host] is None:
                reason = f"its exporter has not looked for more than {figures.OLDEST:.0f} s"
        except ValueError as error:
            reason = str(error)
        if reason:
            notes.append(f"{node.host}: nothing is known of its NICs in pods: {reason}")
    return told, notes


def look(context: Map, options: Map, check: bool) -> Dict[str, Any]:
    """The result of the action ``health``: options of ``device_taints``, and the directory of the run."""
    path = f"{_files.artifact(options['directory'], context)}/state.json"
    before = _read(path)
    hosts = [str(host) for host in options["hosts"] or context["ansible_play_hosts_all"]]
    nodes = _nodes(context, hosts)
    told, notes = _figures(context, nodes)
    found = looks.look(nodes, before, int(_verify_run.now()), told)
    without = context.get("rdma_cluster") == "none"
    why = "rdma_cluster is none" if without else "" if options["whole"] else "it is limited to some of the hosts"
    found.notes += [*notes, *looks.unenforced(nodes, why)]
    if not check:
        # Of hosts beside those of the run, nothing is forgotten.
        kept = {} if options["whole"] else before
        _write(path, {**kept, **found.memory})
    run = _verify_run.begin(None)
    _verify_run.keep(run, _KEPT, looks.kept(found))
    return {"run": run, **looks.plain(found), "changed": False}


def _write(path: str, found: Memory) -> None:
    try:
        _files.write(path, memory.text(found))
    except OSError as error:
        raise AnsibleActionFail(f"{_DIRECTORY}: {path} cannot be written: {error}") from error


def report(context: Map, options: Map, created: str, check: bool) -> Dict[str, Any]:
    """The report: files, text and why the run fails. ``found`` is what ``device_taints`` returned."""
    found = looks.read(_verify_run.kept(options["run"], _KEPT))
    directory, tainted = _files.artifact(options["directory"], context), plain(options["found"])
    if "rules" in tainted:
        effects = {at: max(own, key=_rank) for at, own in documents.effects(tainted).items()}
        before, found.memory = found.memory, memory.tainted(found.memory, effects, int(_verify_run.now()))
        path = f"{directory}/state.json"
        if found.memory != before and not check:
            _write(path, {**_read(path), **found.memory})
    whole = documents.document(found, tainted, created, _run.collection_version())
    path = f"{directory}/health.json"
    files = {path: documents.text(whole), f"{directory}/health.html": html(whole)}
    if options["metrics"]:
        files[_files.artifact(options["metrics"], context)] = metrics(whole)
    failed = [own for own in found.checks if own.verdict == "fail" and not found.excused(own)]
    counts = {state: sum(group.states[state] for group in whole.groups.values()) for state in memory.STATES}
    return {
        "files": files,
        "text": table(whole),
        "failure": failure(whole, [own.text for own in failed], "" if check else path),
        "counts": counts,
    }
