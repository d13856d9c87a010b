# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What a preview shows contains every value that a run writes, for whatever fleet (hypothesis makes them)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Optional

from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import keyfile
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import plan as links_plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.request import Child, Link, Selector
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.resolve import Target
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.changes import Change, Texts, as_result
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import drift

# Names that are never folded into ranges, so that a heading says which hosts it is about.
HOSTS = ("alpha", "beta", "gamma", "delta")
NOTHING: dict[str, Any] = {"warnings": [], "reboot_reasons": [], "error": None}
SEVERAL = st.integers(1, 3)


def host_links(draw: st.DrawFn, number: int) -> tuple[list[dict[str, Any]], list[Texts], set[str]]:
    """The links of a host, the files of them, and what is its own in them."""
    links, files, own = [], [], set()
    for rail in range(draw(SEVERAL)):
        mac = f"b8:59:9f:00:{number:02x}:{rail:02x}"
        network, prefix, host = draw(st.integers(0, 2)), draw(st.sampled_from((16, 24))), number + 10 * draw(SEVERAL)
        addresses = (f"10.{network}.0.{host}/{prefix}",)
        mtu: Optional[int] = draw(st.sampled_from((None, 1500, 9000)))
        child = draw(st.booleans())
        link = Link(
            name=f"rdma-rail{rail}",
            selector=Selector("mac", mac),
            mtu=mtu,
            addresses=() if child else addresses,
            children=(Child("vlan", 100 * draw(SEVERAL), addresses, mtu),) if child else (),
            rail_table=draw(st.sampled_from((None, 100 + rail))),
        )
        target = Target("ethernet", mac, f"eth{rail}")
        profiles = keyfile.profiles(link, target)
        links.append(links_plan._report(link, target, profiles, live=False))
        before: Optional[str] = draw(st.sampled_from((None, "[connection]\nautoconnect=false\n")))
        files += [Texts(profile.path, before, profile.text) for profile in profiles]
        own |= {mac.upper(), *(profile.uuid for profile in profiles)}
    return links, files, own


@st.composite
def fleets(draw: st.DrawFn) -> dict[str, tuple[dict[str, Any], set[str]]]:
    """What each host answers, and what is its own in it."""
    found = {}
    for number, host in enumerate(HOSTS, start=1):
        links, files, own = host_links(draw, number)
        concerns = {
            "kernel": ([Texts("/etc/modules-load.d/rdma.conf", "ib_core\n", f"rdma_cm\nlimit={draw(SEVERAL)}\n")], []),
            "links": (files, links),
        }
        answers = {}
        for name, (texts, of_links) in concerns.items():
            loaded = [
                Change("module", f"module{number_}", "unloaded", "loaded") for number_ in range(draw(SEVERAL) * 4)
            ]
            changes = [Change("file", text.path, "present" if text.before else "absent", "present") for text in texts]
            result = as_result([*changes, *(loaded if name == "kernel" else [])], texts)
            answers[name] = {**NOTHING, **result, "links": of_links}
        found[host] = ({"changed": False, "differs": True, "concerns": answers}, own)
    return found


def words(lines: list[str]) -> list[str]:
    return [word for line in lines for word in re.split(r"[=,\s]+", line.strip().lstrip("+- ")) if word]


def shown_of(host: str, text: str) -> set[str]:
    """Each word that a preview says of one host: in its rows of the table, and below headings that name it."""
    lines, concerned = [], False
    for line in text.splitlines():
        if " of " in line and line.endswith(":") and not line.startswith(" "):
            concerned = host in line.split(" of ")[1].split(", each")[0].rstrip(":").split(",")
        if (concerned and not line.startswith("  -")) or line.split()[:1] == [host]:
            lines.append(line)
    return set(words(lines))


def written(result: Mapping[str, Any]) -> list[str]:
    """Each word that a run would write to a node."""
    parts = [part for concern in result["concerns"].values() for part in concern["diff"]]
    return words(
        [line for part in parts for line in set(part["after"].splitlines()) - set(part["before"].splitlines())]
    )


@settings(max_examples=150, derandomize=True, deadline=None, database=None)
@given(fleet=fleets())
def test_what_is_shown_contains_every_value_that_is_written(fleet: dict[str, tuple[dict[str, Any], set[str]]]) -> None:
    answers = [drift.HostDrift(host, "h100", result) for host, (result, _own) in fleet.items()]
    text = drift.view(answers, check=True, diff=True)["text"]
    for host, (result, own) in fleet.items():
        shown = shown_of(host, text)
        lacking = [word for word in written(result) if word not in shown and word not in own]
        assert not lacking, f"{host}: {lacking}\n{text}"


def test_hosts_that_are_equal_but_for_their_own_are_told_together() -> None:
    answers = []
    for number, host in enumerate(HOSTS, start=1):
        mac = f"00:00:10:49:fe:80:00:00:00:00:00:00:b8:59:9f:03:00:00:00:{number:02x}"
        link = Link("rdma-rail0", Selector("mac", mac), mtu=2044, addresses=(f"10.0.0.{number}/24",), rail_table=100)
        target = Target("infiniband", mac, "ib0")
        profiles = keyfile.profiles(link, target)
        rule = keyfile.udev_text([Selector("mac", mac)], {})
        files = [Texts(profile.path, None, profile.text) for profile in profiles] + [Texts("/rule", None, rule)]
        result = as_result([Change("file", file.path, "absent", "present") for file in files], files)
        concern = {**NOTHING, **result}
        concern["links"] = [links_plan._report(link, target, profiles, live=False)]
        answers.append(drift.HostDrift(host, "h100", {"differs": True, "concerns": {"links": concern}}))
    lines = drift.view(answers, diff=True)["text"].splitlines()
    headings = [line for line in lines if line.startswith("links of")]
    assert headings == [
        "links of alpha,beta,delta,gamma, each with its own addresses and MAC addresses (shown: alpha):"
    ]


def test_a_difference_that_may_not_be_shown_is_said() -> None:
    result = as_result([Change("file", "/a", "present", "present")], [Texts("/a", "key = ***\n", "key = ***\n")])
    concern = {**NOTHING, **result}
    answer = drift.HostDrift("alpha", "h100", {"differs": True, "concerns": {"runtime": concern}})
    text = drift.view([answer], diff=True)["text"]
    assert "  /a: differs only in what is not shown here, such as credentials or line ends" in text
