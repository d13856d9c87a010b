# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""CEL selectors as the scheduler evaluates them, and quantities.

Expected results follow ``cel/compile.go`` of k8s.io/dynamic-resource-allocation and the CEL specification.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Iterator

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.scheduler import cel
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice, Version
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.quantity import quantity
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import Facts, plan, template

DEVICE = SliceDevice(
    "gpu.nvidia.com",
    "n",
    "gpu-0",
    attributes={
        "gpu.nvidia.com/productName": "NVIDIA A100-SXM4-40GB",
        "gpu.nvidia.com/driverVersion": Version("580.126.9"),
        "gpu.nvidia.com/numa": 1,
        "resource.kubernetes.io/numaNode": (0, 1),
        "dra.net/rdma": True,
    },
    capacity={"gpu.nvidia.com/memory": "40Gi"},
)

THIRTY = str(list(range(30)))
TRUE = [
    'device.driver == "gpu.nvidia.com"',
    'device.attributes["dra.net"].rdma',
    "device.attributes['gpu.nvidia.com'].numa in [0, 1]",
    '1 in device.attributes["resource.kubernetes.io"].numaNode',
    'device.attributes["gpu.nvidia.com"].productName.matches("A100.*40GB$")',
    'device.attributes["gpu.nvidia.com"].productName.lowerAscii().contains("a100")',
    'device.attributes["gpu.nvidia.com"].driverVersion.isGreaterThan(semver("580.99.0"))',
    'device.attributes["gpu.nvidia.com"].driverVersion.major() == 580',
    'device.attributes["gpu.nvidia.com"].driverVersion == semver("580.126.9")',
    'device.attributes["gpu.nvidia.com"].driverVersion != "580.126.9"',
    'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("42949672960")) == 0',
    'device.capacity["gpu.nvidia.com"].memory == quantity("40960Mi")',
    'device.capacity["gpu.nvidia.com"].memory.isLessThan(quantity("80G"))',
    'isQuantity("1Gi") && !isQuantity("1 GB") && isSemver("1.2.3") && !isSemver("1.2")',
    'cel.bind(gpu, device.attributes["gpu.nvidia.com"], gpu.numa == 1)',
    'device.attributes["dra.net"].?ifName.orValue("") == ""',
    # A domain that the device has nothing of is an empty map, but not one of its domains.
    '!("ifName" in device.attributes["example.com"])',
    'device.attributes["example.com"].?x.orValue(7) == 7',
    '!("example.com" in device.attributes) && "dra.net" in device.attributes',
    "device.attributes.size() == 3",
    "[1, 2].sum() == 3 && [1.5, 2.0].sum() == 3.5 && [].sum() == 0",
    "[1, 2].isSorted() && ![2, 1].isSorted()",
    '[3, 1].min() == 1 && ["a", "b"].max() == "b"',
    'device.attributes["resource.kubernetes.io"].numaNode.max() == 1',
    "sets.contains([1, 2], [1]) && !sets.contains([1], [1, 2])",
    "sets.equivalent([1, 1], [1]) && sets.intersects([1, 2], [2, 3]) && !sets.intersects([1], [])",
    'quantity("1").add(quantity("2")) == quantity("3") && quantity("5").sub(1).asInteger() == 4',
    'quantity("-1").sign() == -1 && quantity("1").isInteger() && quantity("500m").asApproximateFloat() == 0.5',
    # Either side of || and && absorbs an error of the other.
    'device.attributes["dra.net"].ifName == "x" || true',
    '!(device.attributes["dra.net"].ifName == "x" && false)',
]


@pytest.mark.parametrize("expression", TRUE)
def test_true(expression: str) -> None:
    assert cel.matches(expression, DEVICE) is True
    assert cel.matches(f"!({expression})", DEVICE) is False


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ('device.attributes["dra.net"].ifName == "x"', 'Key not found in map: "ifName"'),
        ('device.attributes["example.com"].x', 'Key not found in map: "x"'),
        ('device.attributes["gpu.nvidia.com"].numa', "its result is 1"),
        ('device.attributes["gpu.nvidia.com"].productName.isGreaterThan(semver("1.2.3"))', "No matching overloads"),
        ('quantity("much").isGreaterThan(quantity("1"))', "'much' is not a quantity"),
        ('semver("1.2").isGreaterThan(semver("1.0.0"))', "'1.2' is not a semantic version"),
        ('device.driver == "x" &&', "Syntax error"),
        ('quantity("500m").asInteger() == 1', "1/2 is not a whole number"),
        ('semver("1.0.0").add(1) == quantity("1")', "a version is not a quantity"),
        (f"{THIRTY}.all(a, {THIRTY}.all(b, {THIRTY}.all(c, {THIRTY}.all(d, a + b + c + d >= 0))))", "budget exceeded"),
        ("size(device.driver)", "type INT"),
        ('device.driver + 1 == "x"', "no matching overload"),
    ],
)
def test_what_ends_the_attempt_of_the_scheduler(expression: str, why: str) -> None:
    with pytest.raises(cel.SelectorError) as error:
        cel.matches(expression, DEVICE)
    assert why in str(error.value)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ('ip("10.0.0.1").family() == 4', "undeclared reference"),
        # The library has them for strings only.
        ("[1, 2].indexOf(2) == 1", "no matching overload for 'indexOf'"),
        ('device.attributes["resource.kubernetes.io"].numaNode.indexOf(1) == 1', "no matching overload for 'indexOf'"),
        ("[1, 2].lastIndexOf(2) == 1", "no matching overload for 'lastIndexOf'"),
    ],
)
def test_what_kubernetes_knows_and_the_library_does_not(expression: str, said: str) -> None:
    with pytest.raises(cel.NotEvaluatedError, match=said):
        cel.matches(expression, DEVICE)


def test_versions_in_their_order() -> None:
    order = ["1.0.0-1", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0", "1.0.1", "1.10.0", "2.0.0"]
    assert sorted(sorted(order), key=cel.semver_key) == order
    assert cel.semver_key("1.0.0+build") == cel.semver_key("1.0.0")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("80G", 80 * 10**9),
        ("40Gi", 40 * 2**30),
        ("1500m", Fraction(3, 2)),
        ("12e6", 12 * 10**6),
        ("12E-1", Fraction(12, 10)),
        ("1E", 10**18),
        (".5", Fraction(1, 2)),
        ("-3", -3),
        ("80 G", None),
        ("80GB", None),
        ("1Ki5", None),
        ("", None),
        ("G", None),
    ],
)
def test_quantities(text: str, value: int | Fraction | None) -> None:
    assert quantity(text) == value


@pytest.fixture(name="without_library")
def remove_library(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "cel_expr_python", None)
    cel._environment.cache_clear()
    cel._compiled.cache_clear()
    yield
    cel._environment.cache_clear()
    cel._compiled.cache_clear()


@pytest.mark.usefixtures("without_library")
def test_a_missing_library_is_one_problem_of_a_whole_fleet(facts_of: Facts) -> None:
    facts = {name: facts_of(name) for name in ("h100-01", "h100-02")}
    found = plan(facts, template(gpus=1, nics=1), template("two", gpus=2, nics=2))
    (problem,) = found.problems
    assert problem.endswith(f"where Ansible runs: cel-expr-python. Run {sys.executable} -m pip install cel-expr-python")
    assert found.objects == []


@pytest.mark.usefixtures("without_library")
def test_claims_that_need_no_library_are_planned_without(facts_of: Facts) -> None:
    assert plan({"h100-01": facts_of("h100-01")}).problems == []


class OwnText(str):
    """Text as Ansible 2.18 has it in facts: what str() makes of it is itself."""

    def __str__(self) -> str:  # pylint: disable=invalid-str-returned
        return self


def test_text_of_another_class() -> None:
    device = SliceDevice("dra.net", "n", "nic", attributes={"dra.net/ifName": OwnText("eth0")}, capacity={})
    assert cel.matches('device.attributes["dra.net"].ifName == "eth0"', device)
