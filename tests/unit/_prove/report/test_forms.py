# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the report says, in every form of it, about documents of the recorded fleet."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import re
import time
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Callable
from xml.etree import ElementTree

import jsonschema
import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import verify as prove_document
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import DocumentError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import findings
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import text as report_text
from ansible_collections.zerocopy.rdma.tests.report.example import example
from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import rendered

Facts = Callable[..., dict[str, Any]]
html, junit, summary = (partial(rendered, form=name) for name in ("html", "junit", "summary"))
SCHEMA = json.loads((Path(__file__).parents[4] / "docs" / "verify-report.schema.json").read_text("utf-8"))
FORMS = pytest.mark.parametrize("form", [html, junit, summary])
NASTY = "<script>alert('&\")</script>\x1b[31m\x00{{ 1 + 1 }}"


class Page(HTMLParser):
    """The texts of a page, its elements, and the values of their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, Any]]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == [], "every element is closed"

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "input", "br"):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in ("style", "script"):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def values(self, tag: str, name: str) -> list[str]:
        return [found.get(name, "") for kind, found in self.elements if kind == tag]


@pytest.fixture(scope="module")
def small(facts_of: Facts) -> dict[str, Any]:
    return example(facts_of)


@pytest.fixture
def document(small: dict[str, Any]) -> dict[str, Any]:
    return copy.deepcopy(small)


@pytest.fixture
def empty() -> dict[str, Any]:
    return prove_document.plain(prove_document.VerifyDocument(None, "0.1.0"))


def check(**changed: Any) -> dict[str, Any]:
    base = {"ring": "host", "id": "host.mtu", "host": "n-01", "group": "g", "subject": "mlx5_0/1", "verdict": "fail"}
    return {
        **base,
        "text": "The MTU is 1500.",
        "evidence": {"mtu": 1500},
        "remedy": "Set it to 9000.",
        "mend": "",
        **changed,
    }


def measurement(source: str, target: str, value: float, **changed: Any) -> dict[str, Any]:
    ends = [{"host": host, "hca": "mlx5_0", "port": 1} for host in (source, target)]
    good = value >= 90
    base = {"group": "g", "test": "write_bw", "from": ends[0], "to": ends[1], "value": value, "unit": "Gb/s"}
    verdict = "pass" if good else "fail"
    return {**base, "expected": 100.0, "threshold": 90.0, "verdict": verdict, "text": "Measured.", **changed}


def with_hosts(document: dict[str, Any], *names: str) -> dict[str, Any]:
    document["hosts"] = {name: {"group": "g", "facts": {}} for name in names}
    return document


@pytest.fixture(scope="module")
def validator() -> Any:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    return jsonschema.Draft202012Validator(SCHEMA)


def test_documents_fit_the_schema(validator: Any, document: dict[str, Any], empty: dict[str, Any]) -> None:
    for one in (document, empty):
        validator.validate(one)
        validator.validate(prove_document.plain(report_text.read(one)))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["version"], 2),
        (["checks", 0, "verdict"], "maybe"),
        (["checks", 0, "id"], "host"),
        (["checks", 0, "extra"], 1),
        (["bandwidth", 0, "unit"], "GB/s"),
        (["bandwidth", 0, "from", "port"], 0),
        (["hosts", "v100-01", "facts"], None),
    ],
)
def test_the_schema_refuses(validator: Any, document: dict[str, Any], path: list[Any], value: Any) -> None:
    at = document
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    assert not validator.is_valid(document)


@FORMS
def test_a_document_of_another_version_is_refused(form: Callable[..., str], empty: dict[str, Any]) -> None:
    with pytest.raises(DocumentError, match=r"^has version 7, .* up to 1: update the collection$"):
        form({**empty, "version": 7})


@FORMS
def test_every_form_shows_a_check_that_is_added(form: Callable[..., str], document: dict[str, Any]) -> None:
    before = form(document)
    added = check(id="host.new_thing", host="v100-01", text="A sentence nobody has said.", remedy="Do something new.")
    document["checks"].append(added)
    after = form(document)
    for text in ("host.new_thing", added["text"], added["remedy"]):
        assert text not in before
        assert text in after


@FORMS
def test_examples_say_that_they_are_synthesised(form: Callable[..., str], small: dict[str, Any]) -> None:
    assert "synthesised example" in small["collection"]
    assert "ynthesised example" in form(small)


@FORMS
def test_nothing_to_show_is_no_mistake(form: Callable[..., str], empty: dict[str, Any]) -> None:
    assert form(empty)
    assert "Nothing was checked" in html(empty)
    assert "Nothing was checked" in summary(empty)


def test_a_host_without_facts_is_shown_as_such(empty: dict[str, Any]) -> None:
    assert "no facts" in Page(html(with_hosts(empty, "n-01"))).text


@pytest.mark.parametrize(
    ("checks", "headline"),
    [
        ([check(), check(host="n-02", verdict="pass")], "1 of 3 hosts failed"),
        ([check(verdict="warn"), check(host="n-02", verdict="pass")], "All 3 hosts passed, 1 with warnings"),
        ([check(verdict="pass"), check(verdict="impossible", id="host.sm")], "All 3 hosts passed"),
        ([check(verdict="impossible")], "Nothing could be checked here"),
        ([check(ring="cluster", id="cluster.class", host=None)], "A check of the cluster failed"),
        ([check(ring="cluster", id="cluster.class", host=None, verdict="warn")], "the cluster has warnings"),
    ],
)
def test_headline(empty: dict[str, Any], checks: list[dict[str, Any]], headline: str) -> None:
    document = with_hosts(empty, "n-01", "n-02", "n-03")
    document["checks"] = checks
    assert headline in Page(html(document)).text
    assert headline in summary(document).splitlines()[0]


def test_findings_are_folded_and_the_worst_come_first(empty: dict[str, Any]) -> None:
    names = [f"n-{number:02}" for number in range(1, 13)]
    document = with_hosts(empty, *names)
    document["checks"] = [check(id="host.memlock", host=name, verdict="warn", text="Little memory.") for name in names]
    document["checks"] += [check(host=name) for name in names[:5]] + [check(id="host.nri", host="n-09", text="Off.")]
    picture = findings.picture(report_text.read(document))
    assert [(one.verdict, one.id, len(one.hosts)) for one in picture.findings] == [
        ("fail", "host.mtu", 5),
        ("fail", "host.nri", 1),
        ("warn", "host.memlock", 12),
    ]
    lines = [line for line in summary(document).splitlines() if line.startswith(("FAIL  ", "WARN  "))]
    assert lines == [
        "FAIL  host.mtu  n-[01-05] mlx5_0/1: The MTU is 1500. -> Set it to 9000.",
        "FAIL  host.nri  n-09 mlx5_0/1: Off. -> Set it to 9000.",
        "WARN  host.memlock  n-[01-12] mlx5_0/1: Little memory. -> Set it to 9000.",
    ]
    page = Page(html(document)).text
    assert page.index("host.mtu") < page.index("host.nri") < page.index("host.memlock")
    assert page.count("n-[01-05]") == 2, "once as a finding, once in the table of all checks"


def test_different_remedies_stay_with_their_sentences(empty: dict[str, Any]) -> None:
    document = with_hosts(empty, "n-01", "n-02")
    document["checks"] = [check(), check(host="n-02", text="The MTU is 2044.", remedy="Ask the subnet manager.")]
    page = Page(html(document)).text
    assert (
        page.index("is 1500.") < page.index("Set it to 9000.") < page.index("is 2044.") < page.index("Ask the subnet")
    )


def test_counts_are_those_of_the_document(document: dict[str, Any]) -> None:
    counts = findings.picture(report_text.read(document)).counts
    for ring in prove_document.RINGS:
        for verdict in prove_document.VERDICTS:
            expected = sum(one["ring"] == ring and one["verdict"] == verdict for one in document["checks"])
            assert counts[ring][verdict] == expected
    assert sum(counts["bandwidth"].values()) == len(document["bandwidth"])


def nasty(document: dict[str, Any]) -> dict[str, Any]:
    facts = copy.deepcopy(document["hosts"]["v100-01"]["facts"])
    facts["gpus"][0]["model"] = NASTY
    facts["excluded"] = [{"hca": NASTY, "port": 1, "reasons": [{"code": "x", "text": NASTY}]}]
    document["hosts"][NASTY] = {"group": NASTY, "facts": facts}
    texts = {"host": NASTY, "group": NASTY, "subject": NASTY, "text": NASTY, "remedy": NASTY}
    document["checks"].append(check(evidence={NASTY: NASTY}, **texts))
    document["bandwidth"].append(measurement(NASTY, "v100-01", 1.0, group=NASTY, test=NASTY, text=NASTY))
    return document


def test_the_page_escapes_everything(small: dict[str, Any], document: dict[str, Any]) -> None:
    before = Page(html(document))
    raw = html(nasty(document))
    assert raw.count("<script") == html(small).count("<script") == 1
    assert not re.search("[\x00-\x08\x0b-\x1f]", raw)
    after = Page(raw)
    assert {tag for tag, _attributes in after.elements} == {tag for tag, _attributes in before.elements}
    assert after.text.count("<script>alert('&\")</script>") > 8
    assert "{{ 1 + 1 }}" in after.text


def test_junit_and_terminal_are_safe_from_control_characters(document: dict[str, Any]) -> None:
    ElementTree.fromstring(junit(nasty(document)))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", summary(document))


def test_the_page_needs_nothing_else(small: dict[str, Any]) -> None:
    raw = html(small)
    page = Page(raw)
    assert {tag for tag, _attributes in page.elements}.isdisjoint({"img", "iframe", "object", "embed"})
    assert page.values("link", "href") == ["data:,"]
    assert all(href.startswith("#") for href in page.values("a", "href"))
    assert not any(found.get("src") for _tag, found in page.elements)
    assert not re.search(r"url\(|@import|https?:", raw)


def test_the_page_can_be_found_ones_way_in(small: dict[str, Any]) -> None:
    page = Page(html(small))
    levels = [int(tag[1]) for tag, _attributes in page.elements if re.match("h[1-6]$", tag)]
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(levels, levels[1:])), "no level of headings is left out"
    assert set(page.values("th", "scope")) == {"row", "col"}, "the corner of a table is no heading"
    identifiers = [found["id"] for _tag, found in page.elements if "id" in found]
    assert len(set(identifiers)) == len(identifiers)
    assert set(page.values("a", "href")) <= {f"#{name}" for name in identifiers}
    assert all(found.get("aria-label") or found.get("aria-hidden") for tag, found in page.elements if tag == "svg")
    assert ("html", {"lang": "en"}) in page.elements


def test_nodes_alike_are_drawn_once(small: dict[str, Any]) -> None:
    page = Page(html(small))
    signatures = {host["facts"]["signature"] for host in small["hosts"].values()}
    shapes = [one for one in page.values("article", "class") if one == "shape"]
    assert len(shapes) == len(signatures) < len(small["hosts"])
    assert "h100-[01-02,04-05,07-08,10-11]" in page.text
    for text in ("GPU 3", "A100-SXM4-80GB", "PIX mlx5_0", "NODE mlx5_4", "pci0000:3a", "NUMA node 1"):
        assert text in page.text


def test_a_large_fleet_makes_small_reports_in_linear_time(facts_of: Facts) -> None:
    documents = [example(facts_of, {"v100": size * 9 // 10, "h100": size // 10}) for size in (250, 1000)]
    took = []
    for document in documents:
        start = time.process_time()
        page, lines, cases = html(document), summary(document).splitlines(), junit(document)
        took.append(time.process_time() - start)
        assert len(page) < 2_000_000
        assert len(lines) <= 40
        assert cases.count("<testcase") == len(document["checks"]) + len(document["bandwidth"])
    assert took[1] < took[0] * 4 * 2, "four times the hosts, with room for a busy machine"


def test_the_summary_stays_on_one_page_when_all_hosts_fail_differently(empty: dict[str, Any]) -> None:
    names = [f"n-{number:04}" for number in range(1, 1001)]
    document = with_hosts(empty, *names)
    document["checks"] = [
        check(id=f"host.check{number % 60:02}", host=name, text=f"The value is {number}.", remedy="")
        for number, name in enumerate(names)
    ]
    lines = summary(document).splitlines()
    assert len(lines) <= 40
    assert lines[0].startswith("FAIL: 1000 of 1000 hosts failed")
    assert lines[-1] == f"and {60 - sum(line.startswith('FAIL  ') for line in lines)} more, in the report"
    assert any("n-0001 and 16 more: 17 times, such as: The value is 0." in line for line in lines)
    assert all(len(line) < 200 for line in lines)


def test_hosts_have_rows_with_links_to_findings_and_drawing(small: dict[str, Any]) -> None:
    page = Page(html(small))
    hosts = [found["data-host"] for tag, found in page.elements if tag == "tr" and "data-host" in found]
    assert sorted(hosts) == sorted(small["hosts"])
    rows = dict(re.findall(r'<tr id="(host-[0-9]+)" data-host="h100-05">(.*?)</tr>', html(small), re.S))
    [links] = [re.findall(r'href="#([a-z0-9-]+)"', row) for row in rows.values()]
    assert [link.split("-")[0] for link in links] == ["finding", "finding", "shape"]
    finding = html(small).split(f'id="{links[0]}"')[1].split("</article>")[0]
    assert "host.runtime" in finding
    assert f'href="#{next(iter(rows))}"' in finding
    assert f'href="#{links[2]}"' in finding


def test_only_the_script_of_the_page_may_run(small: dict[str, Any]) -> None:
    raw = html(small)
    script = raw.split("<script>")[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    [policy] = [found["content"] for _tag, found in Page(raw).elements if found.get("http-equiv")]
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:"


def test_the_page_says_how_it_was_run(document: dict[str, Any]) -> None:
    document["run"] |= {"inventory": ["fleet/hosts.yml"], "limit": "h100", "tags": ["host"]}
    assert "Inventory fleet/hosts.yml , limit h100 , tags host" in Page(html(document)).text


def test_facts_alone_make_a_page_without_verdicts(document: dict[str, Any]) -> None:
    document.update(checks=[], bandwidth=[], benchmark=None)
    page = Page(html(document))
    assert "RDMA hardware of 22 hosts" in page.text
    assert "NUMA node 1" in page.text
    assert "is a 100 Gb/s port behind a PCIe link that carries 63 Gb/s" in page.text
    assert not re.search("not judged|Findings|All checks|Nothing was checked", page.text)


def test_what_passed_is_folded(small: dict[str, Any]) -> None:
    raw = html(small)
    folded = "".join(re.findall(r"<details[^>]*>.*?</details>", raw, re.S))
    assert "host.modules" in folded
    assert raw.count("host.modules") == folded.count("host.modules")
    assert "host.path_mtu</h3>" not in folded
