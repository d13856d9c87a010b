# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: verify_document
short_description: Combine the results of verify's host, cluster and pod checks into one document
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Combines checks and measurements with the facts of the hosts.
extends_documentation_fragment:
  - zerocopy.rdma._hosts
positional: hostvars
options:
  rings:
    description:
      - Results of the host, cluster and pod checks. Each has C(checks) and C(bandwidth); one of them may be missing.
    type: list
    elements: dict
    default: []
  created:
    description: Time of the run in ISO 8601 format.
    type: str
  earlier:
    description:
      - Path of the document of an earlier run, to find out what is new and what is gone since. Ignored if it is missing
        or cannot be read.
    type: path
  benchmark:
    description: A C(document) of P(zerocopy.rdma.benchmark_document#filter), to be shown in the same report.
    type: dict
"""

EXAMPLES = r"""
- name: Combine the results
  ansible.builtin.set_fact:
    document: "{{ ansible_play_hosts_all | zerocopy.rdma.verify_document(hostvars, [found]) }}"
  vars:
    found: "{{ ansible_play_hosts_all | zerocopy.rdma.host_verdicts(hostvars) }}"
  run_once: true
"""

RETURN = r"""
_value:
  description: The document.
  type: dict
  contains:
    version:
      description: Version of the document's format.
      type: int
      sample: 1
    created:
      description: Time of the run.
      type: str
    collection:
      description: Version of this collection.
      type: str
    run:
      description: How Ansible was called, according to its magic variables, for the commands in the report.
      type: dict
    earlier:
      description:
        - C(created) of the earlier run, which findings are C(new) and C(gone) since, and how many are C(unchanged).
          V(null) without an earlier run.
      type: dict
    benchmark:
      description: The benchmark's document. V(null) if there is none.
      type: dict
    hosts:
      description: C(group) and C(facts) of each host.
      type: dict
    checks:
      description: All checks.
      type: list
      elements: dict
    bandwidth:
      description: All measurements.
      type: list
      elements: dict
"""

from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional

from ansible.errors import AnsibleFilterError
from jinja2 import pass_context

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove import document
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import earlier as report_earlier
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _inventory, _run, _verify_inventory


def _plain(value: Any) -> Any:
    """A value without Ansible's own containers, of which there are no copies."""
    if isinstance(value, Mapping):
        return {str(key): _plain(value[key]) for key in value}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _host(own: Mapping[str, Any], rails: Mapping[int, str]) -> document.DocumentHost:
    # A host whose facts cannot be used has none; the host ring tells why.
    facts, _malformed = _inventory.facts_of(own)
    numbers = {port: rail for rail, port in rails.items()}
    return document.DocumentHost(variables.group_of(own), variables.sent(own) if facts else {}, numbers)


def _earlier(path: str) -> Optional[document.VerifyDocument]:
    try:
        return report_earlier.read(Path(path).read_text("utf-8"))
    except (OSError, ValueError):
        return None


@pass_context
def verify_document(
    context: Mapping[str, Any],
    hosts: List[str],
    hostvars: Mapping[str, Mapping[str, Any]],
    rings: Optional[List[Mapping[str, Any]]] = None,
    created: Optional[str] = None,
    earlier: Optional[str] = None,
    benchmark: Optional[Mapping[str, Any]] = None,
) -> Dict[str, Any]:
    found = _plain(rings or [])
    measured = any(ring.get("bandwidth") for ring in found)
    rails = {node.host: node.rails for node in _verify_inventory.nodes(context, hosts, hostvars)} if measured else {}
    known = {host: _host(hostvars[host], rails.get(host, {})) for host in hosts}
    try:
        whole = document.VerifyDocument(
            created,
            _run.collection_version(),
            known,
            [document.check(check) for ring in found for check in ring.get("checks") or []],
            [document.measurement(entry) for ring in found for entry in ring.get("bandwidth") or []],
            _run.of(context, {name: host.group for name, host in known.items()}),
            benchmark=document.benchmark(_plain(benchmark)),
        )
    except document.DocumentError as error:
        raise AnsibleFilterError(f"verify_document: {error}") from error
    past = _earlier(earlier) if earlier else None
    whole.earlier = report_earlier.compare(past, whole) if past else None
    return document.plain(whole)


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"verify_document": verify_document}
