# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A site's own checks on facts (``rdma_verify_checks``), as checks like all others."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import queries
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.evidence import HostEvidence
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.plain import plain
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import RefusedError


def _check(node: HostEvidence, entry: Mapping[str, Any], facts: Optional[Any]) -> Check:
    name, expression = entry["name"], entry["expression"]
    what = f"site.{name}"
    if facts is None:
        return node.check(what, "impossible", "", f"the check {name} of rdma_verify_checks has no facts to check")
    verdict = entry.get("verdict", "fail")
    try:
        result = queries.search(expression, facts)
    except (queries.QueryError, RefusedError) as error:
        text = f"the check {name} of rdma_verify_checks cannot be evaluated: {error}"
        return node.check(what, verdict, "", text, entry["remedy"], expression=expression)
    if queries.is_true(result):
        return node.check(what, "pass", "", f"the check {name} of rdma_verify_checks is true", expression=expression)
    text = f"the check {name} of rdma_verify_checks is not true: {expression} is {queries.said(result)}"
    return node.check(what, verdict, "", text, entry["remedy"], expression=expression)


def of_node(node: HostEvidence, facts: Optional[Mapping[str, Any]]) -> List[Check]:
    """A check for each entry of the host's variable. ``facts`` are those that the host sent."""
    entries = node.values.get(queries.CHECKS) or []
    known = plain(facts) if entries and facts is not None else None
    return [_check(node, entry, known) for entry in entries]
