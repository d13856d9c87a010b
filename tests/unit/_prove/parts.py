# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Parts of verify, and reports, with what a play would have of these hosts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats.html import html
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats.junit import junit
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats.prometheus import prometheus
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats.summary import summary
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.text import read
from ansible_collections.zerocopy.rdma.plugins.modules import report as report_module
from ansible_collections.zerocopy.rdma.plugins.modules import verify as verify_module
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _report, _verify
from ansible_collections.zerocopy.rdma.tests.unit.action_options import options, play

Hostvars = Mapping[str, Mapping[str, Any]]
Found = dict[str, Any]

_FORMS: dict[str, Callable[[Any], str]] = {"html": html, "junit": junit, "summary": summary, "prometheus": prometheus}


def part(name: str, hostvars: Hostvars, variables: Optional[Mapping[str, Any]] = None, **given: Any) -> Found:
    """The result of a part of verify."""
    return _verify.part(play(hostvars, **(variables or {})), options(verify_module, part=name, **given))


def report(
    kind: str,
    hostvars: Hostvars,
    variables: Optional[Mapping[str, Any]] = None,
    check: bool = False,
    diff: bool = False,
    **given: Any,
) -> Found:
    return _report.report(play(hostvars, **(variables or {})), options(report_module, kind=kind, **given), check, diff)


def rendered(document: Mapping[str, Any], form: str) -> str:
    """A document in one form of the report."""
    return _FORMS[form](read(document))


def strategy_checks(
    hostvars: Hostvars,
    nodes: Sequence[Any],
    daemon_sets: Sequence[Any],
    states: Sequence[Any] = (),
    slices: Sequence[Any] = (),
    gpu_clusters: Sequence[Any] = (),
    **variables: Any,
) -> list[dict[str, Any]]:
    """Checks of nodes and of their plugins, without those of DRANET's pods."""
    found = {"nodes": nodes, "daemon_sets": daemon_sets, "states": states, "gpu_clusters": gpu_clusters}
    judged = part("cluster", hostvars, variables, found=found, published={"slices": slices})
    return [check for check in judged["checks"] if check["id"] != "cluster.driver"]
