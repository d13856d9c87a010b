# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
name: benchmark_plan
short_description: Plan the pairs of pods that measure KV-cache transfers
version_added: 0.1.0
author:
  - The zerocopy.rdma authors (!UNKNOWN)
description:
  - Plans two pods on two nodes of a group for each way in which its pods can request RDMA, and for TCP, for each
    repetition. Pairs are meant to be run one at a time.
positional: ""
options:
  _input:
    description: Directory of a plan with a part for the cluster (M(zerocopy.rdma.plan)).
    type: raw
    required: true
  templates:
    description: Names of claim templates or extended resources. By default all.
    type: list
    elements: str
    default: []
  repetitions:
    description: Number of pairs for each template.
    type: int
    default: 3
  floor:
    description: Whether a pair without NICs measures TCP.
    type: bool
    default: true
  namespace:
    description: Namespace of pods whose request is possible in any namespace.
    type: str
    default: default
  environment:
    description: Environment variables for the pods. They take precedence over those of the plan.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Show which pairs would run
  ansible.builtin.debug:
    msg: "{{ (__plan | zerocopy.rdma.benchmark_plan(repetitions=1)).pairs | map(attribute='entry') }}"
  vars:
    __plan: "{{ plan.directory }}"
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - C(pairs), each with its C(group), C(entry) (the name in the inventory), C(alias) (of the request), C(repetition)
      and two C(pods) for M(zerocopy.rdma.pod_probe), the target first.
    - C(skipped) says which requests have no pair, and why. C(problems) says why nothing can be run. C(lines) is the
      plan as text.
  type: dict
"""

from dataclasses import asdict
from typing import Any, Callable, Dict, Mapping

from ansible.module_utils.parsing.convert_bool import boolean

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.benchmark import plan as pairs
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.plain import plain
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _strategy_answers

_NOT_TEXT: Mapping[str, Callable[[Any], Any]] = {"repetitions": int, "floor": boolean}


def benchmark_plan(plan: Mapping[str, Any], **options: Any) -> Dict[str, Any]:
    chosen = plain(options)
    # Values set with -e are strings.
    chosen.update({name: convert(chosen[name]) for name, convert in _NOT_TEXT.items() if name in chosen})
    chosen["environment"] = {name: str(value) for name, value in chosen.get("environment", {}).items()}
    found = pairs.plan(*_strategy_answers.read(plan), pairs.BenchmarkTests(**chosen))
    return {**asdict(found), "lines": pairs.text(found)}


class FilterModule:
    def filters(self) -> Dict[str, Callable[..., Any]]:
        return {"benchmark_plan": benchmark_plan}
