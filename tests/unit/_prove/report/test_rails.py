# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""How the rails that reach each other are shown in the terminal and on the page."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.rails import RailMatrix, matrix_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import (
    Check,
    DocumentHost,
    VerifyDocument,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats import html, summary

YES, NO, PARTLY, UNKNOWN = "reached", "not reached", "partly", "unknown"


def check(group: str, states: list[list[str]], wanted: list[list[bool]] | None, verdict: str = "fail") -> Check:
    matrix = RailMatrix([*range(len(states))], states, wanted, {}, [])
    return Check("host", "host.rails", None, group, "", verdict, f"Rails of {group}.", asdict(matrix))


def document(*checks: Check) -> VerifyDocument:
    return VerifyDocument(None, "0.1.0", {"n1": DocumentHost("g")}, list(checks))


MIXED = check(
    "g",
    [[YES, NO, YES], [NO, YES, PARTLY], [UNKNOWN, NO, YES]],
    [[True, True, True], [True, True, False], [True, False, True]],
)


def test_a_table_in_the_terminal() -> None:
    lines = summary.summary(document(MIXED)).splitlines()
    at = lines.index("rails of g    0    1        2")
    assert lines[at + 1 : at + 5] == [
        "0           yes  no!      yes",
        "1           no!  yes  partly!",
        "2             ?   no      yes",
        "(from the rail at the left to the one at the top; with ! it is not as rdma_links_rail_reachability says)",
    ]


@pytest.mark.parametrize(
    ("states", "wanted", "shown"),
    [
        ([[YES, YES], [YES, YES]], [[True, True], [True, True]], False),
        ([[YES, NO], [NO, YES]], [[True, False], [False, True]], False),
        ([[YES, NO], [NO, YES]], None, False),
        ([[YES, NO], [NO, YES]], [[True, True], [True, True]], True),
        ([[YES, NO], [YES, YES]], None, True),
    ],
)
def test_what_a_sentence_says_needs_no_table(
    states: list[list[str]], wanted: list[list[bool]] | None, shown: bool
) -> None:
    assert ("rails of g" in summary.summary(document(check("g", states, wanted)))) == shown


def test_groups_that_the_terminal_has_no_room_for_are_counted() -> None:
    many = [check(name, MIXED.evidence["matrix"], MIXED.evidence["wanted"]) for name in ("g10", "g2", "g3")]
    text = summary.summary(document(*many))
    assert "rails of g2 " in text
    assert "and 2 groups more, in the report" in text


def test_tables_on_the_page() -> None:
    other = check("h", [[YES, YES], [YES, YES]], None, "pass")
    page = html.html(document(MIXED, other))
    assert re.findall(r"<caption>([gh])</caption>", page) == ["g", "h"]
    cells = re.findall(r'<td class="([a-z]*)">(yes|no|partly|\?)(!?)</td>', page)
    assert cells[1:4] == [("bad", "no", "!"), ("reached", "yes", ""), ("bad", "no", "!")]
    assert cells[5:7] == [("bad", "partly", "!"), ("", "?", "")]
    assert '<a href="#rails">' in page
    assert 'id="rails"' not in html.html(document())


@pytest.mark.parametrize(
    "change",
    [
        {"matrix": [[YES]]},
        {"matrix": [[YES, YES, "perhaps"]] * 3},
        {"matrix": "yes"},
        {"wanted": [True]},
        {"more": 1},
    ],
)
def test_evidence_of_another_shape_is_no_matrix(change: dict[str, Any]) -> None:
    evidence = {**MIXED.evidence, **change}
    assert matrix_of(Check("host", "host.rails", None, "g", "", "fail", "x", evidence)) is None
    assert matrix_of(MIXED) == RailMatrix(**MIXED.evidence)
