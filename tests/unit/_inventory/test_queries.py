# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""JMESPath over the fleet view and a site's own checks on facts, on recorded nodes."""

from __future__ import annotations

import json
import sys
from typing import Any, Callable

import pytest
import yaml
from ansible.errors import AnsibleFilterError

from ansible_collections.zerocopy.rdma.plugins.filter.fleet import fleet
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import queries, variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.plain import plain
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import RefusedError
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._preflight import problems as prepare_problems
from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import part

Facts = Callable[..., dict[str, Any]]
HOSTS = ("a100-01", "h100-03", "v100-01")


class Text(str):
    """A text of Ansible's own kind, which JMESPath alone would not know as one."""


def hostvars(facts_of: Facts, **variables: Any) -> dict[str, dict[str, Any]]:
    return {
        name: {
            "inventory_hostname": name,
            "group_names": [name.partition("-")[0]],
            "ansible_facts": {"rdma": facts_of(name)},
            **variables,
        }
        for name in HOSTS
    }


def queried(facts_of: Facts, query: str) -> dict[str, Any]:
    return fleet(list(HOSTS), hostvars(facts_of), query=query)


def test_rows_are_printed_as_a_table(facts_of: Facts) -> None:
    every = fleet(list(HOSTS), hostvars(facts_of))
    found = queried(facts_of, "rows[?link_layer=='InfiniBand' && group=='v100']")
    expected = [row for row in every["rows"] if row["link_layer"] == "InfiniBand" and row["group"] == "v100"]
    assert 0 < len(expected) < len(every["rows"])
    assert found["query"] == expected
    lines = found["text"].splitlines()
    assert lines[0].startswith("HOST")
    assert len(lines) == len(expected) + 1
    # The files keep the whole fleet.
    assert (found["rows"], found["csv"]) == (every["rows"], every["csv"])
    assert every["query"] is None


def test_numbers_are_compared_when_they_are_made_of_text(facts_of: Facts) -> None:
    rates = {float(row["rate"]) for row in fleet(list(HOSTS), hostvars(facts_of))["rows"] if row["rate"] != "-"}
    found = queried(facts_of, f"rows[?to_number(rate) < `{max(rates):g}`].rate")
    assert found["query"]
    assert {float(rate) for rate in found["query"]} == rates - {max(rates)}
    assert found["text"].splitlines() == found["query"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("rows[?hca=='mlx5_99']", "The query has no result.\n"),
        ("nothing", "The query has no result.\n"),
        ("groups[].name", "a100\nh100\nv100\n"),
        ("length(groups)", "3\n"),
        ("groups[0].{group: name, hosts: hosts}", '{\n  "group": "a100",\n  "hosts": [\n    "a100-01"\n  ]\n}\n'),
        ("rows[0].host", "a100-01\n"),
    ],
)
def test_other_results_in_the_shortest_form(facts_of: Facts, query: str, text: str) -> None:
    assert queried(facts_of, query)["text"] == text


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("rows[?", "it must be a JMESPath expression"),
        ("nosuch(rows)", "there is no function nosuch"),
        ("to_number(`1`, `2`)", "."),
        ("length(`1`)", "."),
    ],
)
def test_a_query_that_cannot_be_answered_is_named(facts_of: Facts, query: str, why: str) -> None:
    with pytest.raises(AnsibleFilterError, match=f"fleet: query is .*{why}"):
        queried(facts_of, query)


def verdicts(facts_of: Facts, *checks: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = part("host", hostvars(facts_of, rdma_verify_checks=list(checks)))["checks"]
    return {f"{one['host']} {one['id']}": one for one in found if one["id"].startswith("host.site.")}


def test_a_check_of_the_site_has_a_verdict_on_each_host(facts_of: Facts) -> None:
    remedy = "Ask the hardware team."
    found = verdicts(
        facts_of,
        {"name": "eight-gpus", "expression": "length(gpus) == `8`", "remedy": remedy},
        {"name": "kernel", "expression": "system.kernel_is_ours", "remedy": remedy, "verdict": "warn"},
        {"name": "no-empty", "expression": "hcas[?name=='none']", "remedy": remedy},
        {"name": "a-function", "expression": "starts_with(length(gpus), 'x')", "remedy": remedy},
    )
    gpus = {name: len(facts_of(name)["gpus"]) for name in HOSTS}
    assert set(gpus.values()) > {8}
    for name in HOSTS:
        check = found[f"{name} host.site.eight-gpus"]
        assert check["verdict"] == ("pass" if gpus[name] == 8 else "fail")
        assert check["remedy"] == ("" if gpus[name] == 8 else remedy)
        assert (check["ring"], check["group"]) == ("host", name.partition("-")[0])
        assert found[f"{name} host.site.kernel"]["verdict"] == "warn"
        assert "system.kernel_is_ours is null" in found[f"{name} host.site.kernel"]["text"]
        assert found[f"{name} host.site.no-empty"]["verdict"] == "fail"
        # What cannot be evaluated is no pass.
        assert found[f"{name} host.site.a-function"]["verdict"] == "fail"
        assert "cannot be evaluated" in found[f"{name} host.site.a-function"]["text"]
    assert len(found) == 4 * len(HOSTS)


def test_a_host_without_facts_is_told(facts_of: Facts) -> None:
    inventory = hostvars(facts_of, rdma_verify_checks=[{"name": "a", "expression": "gpus", "remedy": "x"}])
    del inventory["a100-01"]["ansible_facts"]
    found = part("host", inventory)["checks"]
    (check,) = [one for one in found if one["host"] == "a100-01" and one["id"] == "host.site.a"]
    assert check["verdict"] == "impossible"


def specified(role: str, name: str) -> str:
    """The description of a variable with its options."""
    specs = yaml.safe_load((variables.ROLES / role / "meta" / "argument_specs.yml").read_text("utf-8"))
    return json.dumps(specs["argument_specs"]["main"]["options"][name])


def test_the_examples_of_the_documentation(facts_of: Facts) -> None:
    facts = facts_of("h100-03")
    firmware = {hca["firmware"] for hca in facts["hcas"]}
    for expression, expected in (
        ("system.netns_mode == 'exclusive'", facts["system"]["netns_mode"] == "exclusive"),
        ("!(hcas[?firmware != '28.39.1002'])", firmware == {"28.39.1002"}),
    ):
        assert f"C({expression})" in specified("rdma_verify", "rdma_verify_checks")
        assert queries.search(expression, facts) is expected
    assert queries.search(f"!(hcas[?firmware != '{facts['hcas'][0]['firmware']}'])", facts) is (len(firmware) == 1)
    every = fleet(list(HOSTS), hostvars(facts_of))
    for query, wanted in (
        ("rows[?state!='ACTIVE']", [row for row in every["rows"] if row["state"] != "ACTIVE"]),
        (
            "findings[?code=='port_down'].hosts[]",
            [host for one in every["findings"] if one["code"] == "port_down" for host in one["hosts"]],
        ),
    ):
        assert f"C({query})" in specified("rdma_discover", "rdma_discover_query")
        assert wanted
        assert queried(facts_of, query)["query"] == wanted


def test_texts_of_ansible_are_texts() -> None:
    data = plain({"name": Text("mlx5_0"), "list": (1, 2)})
    assert queries.search("starts_with(name, 'mlx5') && list == `[1, 2]`", data) is True


def test_without_the_library_only_a_site_that_uses_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    queries.compiled.cache_clear()
    monkeypatch.setitem(sys.modules, "jmespath", None)
    plain: dict[str, dict[str, Any]] = {"n1": {}}
    assert prepare_problems({}, ["n1"], plain) == []
    (problem,) = prepare_problems({}, ["n1"], {"n1": {"rdma_discover_query": "rows"}})
    assert problem.startswith(
        "n1: rdma_discover_query is 'rows', which needs Python packages, missing where Ansible runs: jmespath"
    )
    with pytest.raises(RefusedError):
        queries.search("rows", {})
