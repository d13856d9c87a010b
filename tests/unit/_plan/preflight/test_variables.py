# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Types and names of variables, the roles' own files about them, and the filter over a whole fleet."""

from __future__ import annotations

import datetime
import re
import time
from pathlib import Path
from typing import Any, Mapping

import pytest
import yaml
from ansible.errors import AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._preflight import problems as prepare_problems

ROLES = sorted(path.parents[1] for path in variables.ROLES.glob("*/meta/argument_specs.yml"))
NAMES = [role.name for role in ROLES]

SPEC: dict[str, dict[str, Any]] = {
    "text": {"type": "str"},
    "choice": {"type": "str", "choices": ["auto", "true", "a"]},
    "path": {"type": "path"},
    "int": {"type": "int"},
    "float": {"type": "float"},
    "bool": {"type": "bool"},
    "texts": {"type": "list", "elements": "str"},
    "numbers": {"type": "list", "elements": "int"},
    "map": {"type": "dict"},
    "maps": {
        "type": "list",
        "elements": "dict",
        "options": {"hca": {"type": "str", "required": True}, "port": {"type": "int"}},
    },
    "any": {"type": "raw"},
}

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-5, 70000)
    | st.floats(allow_nan=True)
    | st.sampled_from(["yes", "no", "maybe", "1", "0x10", "9k", "", "a", "auto", "a,b", "1.5", "/x", "k=v", "null"])
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["hca", "port", "x"]), inner)
)


@settings(max_examples=400, deadline=None, derandomize=True, database=None)
@given(name=st.sampled_from(sorted(SPEC)), value=VALUES)
def test_what_is_accepted_a_role_accepts_with_the_same_meaning(name: str, value: Any) -> None:
    values, problems = variables.converted({name: value}, SPEC)
    if problems or name not in values:
        return
    validated = ArgumentSpecValidator(SPEC).validate({name: value})
    assert validated.error_messages == []
    theirs = validated.validated_parameters[name]
    if name == "choice":
        theirs = str(theirs).lower()
    if name == "maps":
        theirs = [{key: one for key, one in entry.items() if one is not None} for entry in theirs]
    assert values[name] == theirs


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("int", "9000", 9000),
        ("bool", "yes", True),
        ("bool", 0, False),
        ("choice", True, "true"),
        ("text", 65536, "65536"),
        ("float", "2.5", 2.5),
        ("maps", [{"hca": "mlx5_0", "port": None}], [{"hca": "mlx5_0"}]),
    ],
)
def test_values_as_extra_variables_and_ini_inventories_write_them(name: str, value: Any, expected: Any) -> None:
    assert variables.converted({name: value}, SPEC) == ({name: expected}, [])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("int", True, "is True, it must be a whole number"),
        ("int", "9k", "is '9k', it must be a whole number"),
        ("int", 1.0, "it must be a whole number"),
        ("float", float("inf"), "it must be a number"),
        ("bool", 2, "is 2, it must be true or false"),
        ("text", 1.10, "is 1.1, it must be a string or a whole number: quote it if it is a string"),
        ("text", datetime.date(2026, 1, 1), "is the date 2026-01-01, it must be a string: quote it"),
        ("text", ["a"], "it must be a string"),
        ("choice", "b", "is 'b', it must be auto or true or a"),
        ("path", "", "it must be a path"),
        ("texts", "a,b", "is 'a,b', it must be a list"),
        ("numbers", [1, "x"], r"numbers\[1\] is 'x'"),
        ("map", "k=v", "it must be a map"),
        ("maps", [{"hca": "a", "prot": 1}], r"maps\[0\] has the key 'prot', did you mean port\?"),
        ("maps", [{"port": 1}], r"maps\[0\] has no hca, which is required"),
        ("text", "x" * 200, None),
    ],
)
def test_values_that_are_surely_wrong(name: str, value: Any, message: str | None) -> None:
    _values, problems = variables.converted({name: value}, SPEC)
    assert len(problems) == (message is not None)
    assert message is None or re.search(message, f"{problems[0].variable} {problems[0].text}")


def test_null_is_not_set_but_not_a_way_to_undo_a_default() -> None:
    spec: Mapping[str, Mapping[str, Any]] = {"a": {"type": "str"}, "b": {"type": "int", "default": 3}}
    values, problems = variables.converted({"a": None, "b": None}, spec)
    assert (values, [problem.text for problem in problems]) == (
        {},
        ["is empty (null): give it a value, or leave it out for 3"],
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rdma_discover_detial", "did you mean rdma_discover_detail?"),
        ("rdam_discover_detail", "did you mean rdma_discover_detail?"),
        ("RDMA_discover_detail", None),
        ("rdma_discover_detail", None),
        ("rdma_hosts", None),
        ("rdma_our_own_rack", "a variable of your own needs another prefix than rdma_"),
        ("mard_our_own_rack", None),
        ("ansible_host", None),
        ("our_rdma_discover_detail", None),
    ],
)
def test_names(name: str, text: str | None) -> None:
    found = variables.unknown([name], variables.options_of())
    assert len(found) == (text is not None)
    assert text is None or text in found[0].text


class Templates(dict[str, Any]):
    """Host variables of which one cannot be worked out."""

    def __getitem__(self, name: str) -> Any:
        if name == "rdma_links_subnet":
            raise AnsibleError("'site' is undefined")
        return super().__getitem__(name)


def test_a_template_that_fails_is_told_with_its_variable() -> None:
    hostvars = {"n1": Templates(rdma_links_subnet="{{ site }}", rdma_links_mtu=9000)}
    assert prepare_problems({}, ["n1"], hostvars) == ["n1: rdma_links_subnet cannot be worked out: 'site' is undefined"]


def test_no_message_is_a_template() -> None:
    hostvars = {"n1": {"rdma_links_mtu": "{% raw %}{{{# 9 #}}}", "rdma_links_subnet": "{{ site }}"}}
    found = prepare_problems({}, ["n1"], hostvars)
    assert len(found) == 2
    assert not re.search("{[{%#]", "".join(found))


def test_hosts_outside_of_the_run_count_for_uniqueness_only() -> None:
    hostvars = {
        "a-1": {"rdma_links_subnet": "10.0.0.0/24"},
        "b-1": {"rdma_links_subnet": "10.0.0.0/24"},
        "c-2": {"rdma_links_subnet": "10.0.0.0/24", "rdma_links_mtu": "9k"},
        "d-3": {"rdma_links_subnet": "10.9.0.0/24"},
    }
    assert prepare_problems({}, ["d-3"], hostvars, everyone=list(hostvars)) == []
    found = prepare_problems({}, ["a-1"], hostvars, everyone=list(hostvars))
    assert [line.split(" is ")[0] for line in found] == ["a-1,b-1: rdma_links_host_number"]
    assert prepare_problems({}, ["a-1"], hostvars) == []


def test_variables_of_the_play_count_for_the_hosts_of_the_run() -> None:
    hostvars: dict[str, dict[str, Any]] = {name: {"rdma_discover_detail": "auto"} for name in ("a-1", "b-1", "c-1")}
    context = {"inventory_hostname": "a-1", "rdma_links_subnet": "10.0.0.0/24", "rdma_links_host_number": 9}
    found = prepare_problems(context, ["a-1", "b-1"], hostvars, everyone=list(hostvars))
    assert found == [
        "a-1,b-1: rdma_links_host_number is not unique, a-1,b-1 would all get 10.0.0.1/24 from rdma_links_subnet: "
        "each needs its own number"
    ]
    context = {"inventory_hostname": "a-1", "rdma_discover_detail": "fulll"}
    assert len(prepare_problems(context, ["a-1", "b-1"], hostvars)) == 1


def test_groups_may_share_a_subnet() -> None:
    hostvars = {"a-1": {"rdma_links_subnet": "10.0.0.0/24"}, "b-2": {"rdma_links_subnet": "10.0.0.0/24"}}
    assert prepare_problems({}, list(hostvars), hostvars) == []


def test_one_mistake_of_a_large_fleet_is_one_short_line_and_soon_told() -> None:
    hostvars: dict[str, dict[str, Any]] = {
        f"gpu-{number:04}": {"group_names": ["gpu"], "rdma_links_subnet": "10.0.0.0/20", "rdma_links_rails": 8}
        for number in range(1, 2001)
    }
    started = time.process_time()
    found = prepare_problems({}, list(hostvars), hostvars)
    assert time.process_time() - started < 20
    assert found == [
        "gpu-[0511-2000]: rdma_links_subnet is '10.0.0.0/20': there is room for host numbers 1 to 510 in each of 8 "
        "equal blocks (8 rails), not for 2000: a /18 is large enough; or set rdma_links_host_number or "
        "rdma_links_addresses"
    ]


def _specs(role: Path) -> dict[str, dict[str, Any]]:
    document = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text("utf-8"))
    return {name: option for entry in document["argument_specs"].values() for name, option in entry["options"].items()}


@pytest.mark.parametrize("role", ROLES, ids=NAMES)
def test_the_defaults_of_a_role_are_those_of_its_specification(role: Path) -> None:
    defaults = yaml.safe_load((role / "defaults" / "main.yml").read_text("utf-8"))
    specified = {name: option["default"] for name, option in _specs(role).items() if "default" in option}
    assert defaults == specified


@pytest.mark.parametrize("role", ROLES, ids=NAMES)
def test_the_variables_of_a_role_have_its_name_and_a_type_that_is_checked(role: Path) -> None:
    for name, option in _specs(role).items():
        assert name.startswith(f"{role.name}_") or name == "rdma_group"
        assert option["type"] in variables._CONVERT
        if "default" in option:
            assert variables.converted({name: option["default"]}, {name: option})[1] == []


def test_no_variable_is_refused_that_a_playbook_or_role_reads() -> None:
    # Names of roles, modules and kernel modules look the same.
    others = {*NAMES, "rdma_facts", "rdma_cm", "rdma_ucm"}
    for path in [*variables.ROLES.glob("*/tasks/*.yml"), *(variables.ROLES.parent / "playbooks").rglob("*.yml")]:
        read = set(re.findall(r"(?<![\w./])rdma_[a-z0-9_]+\b", path.read_text("utf-8"))) - others
        assert read <= set(variables.options_of()), path
