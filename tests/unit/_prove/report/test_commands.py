# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The commands to copy that mend what verify found."""

from __future__ import annotations

import re
import shlex
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import remedies
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import (
    Check,
    DocumentHost,
    VerifyDocument,
    VerifyRun,
    plain,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import commands
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _tags
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._report import document
from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import rendered

CHECKOUT = Path(__file__).resolve().parents[4]
FORMS = [partial(rendered, form=name) for name in ("html", "junit", "summary")]


def fleet(run: VerifyRun, *checks: Check) -> VerifyDocument:
    hosts = {f"{group}-{number:02}": DocumentHost(group) for group in ("a100", "h100") for number in (1, 2, 3)}
    return VerifyDocument(None, "0.1.0", hosts, list(checks), run=run)


def check(host: str, code: str, verdict: str = "fail") -> Check:
    return Check("host", "host.mtu", host, host[:4], "mlx5_0/1", verdict, "The MTU is 1500.", mend=code)


def line(run: VerifyRun, *hosts: str, code: str = "links") -> str:
    return commands.command(code, hosts, fleet(run)).line


def test_the_command_has_inventory_tags_and_hosts() -> None:
    assert line(VerifyRun(["inventory"]), "h100-01", "h100-02") == (
        "ansible-playbook -i inventory zerocopy.rdma.site --tags links --limit h100-01,h100-02"
    )


def test_what_a_shell_would_take_apart_is_quoted() -> None:
    run = VerifyRun(["my fleet/hosts.yml", "h100-01,"], hosts="h100:&rack 1")
    words = shlex.split(line(run, "h100-01", "h100-02; reboot"))
    assert words[1:5] == ["-i", "my fleet/hosts.yml", "-i", "h100-01,"]
    assert words[-4:] == ["--limit", "h100-01", "-e", '{"rdma_hosts": "h100:&rack 1"}'], (
        "no host of the run is left out"
    )


@pytest.mark.parametrize(
    ("limit", "groups", "hosts", "expected"),
    [
        (None, ["a100", "h100"], ["a100-01", "h100-01", "h100-02", "h100-03"], "--limit h100,a100-01"),
        (None, [], ["h100-01", "h100-02", "h100-03"], "--limit h100-01,h100-02,h100-03"),
        (None, [], ["a100-01", "a100-02", "a100-03", "h100-01", "h100-02", "h100-03"], "--tags links"),
        ("rack1", [], ["a100-01", "a100-02", "a100-03", "h100-01", "h100-02", "h100-03"], "--limit rack1"),
    ],
)
def test_many_hosts_have_a_short_limit(limit: Any, groups: list[str], hosts: list[str], expected: str) -> None:
    assert line(VerifyRun(["i"], limit, None, [], groups), *hosts).endswith(expected)


def test_objects_of_the_cluster_are_not_limited() -> None:
    found = line(VerifyRun(["i"], limit="h100"), "h100-01", code="provision")
    assert found == "ansible-playbook -i i zerocopy.rdma.site --tags provision"


def test_each_way_is_told_once_in_the_order_to_go() -> None:
    checks = [check("h100-02", "runtime"), check("h100-01", "links"), check("h100-01", "kernel", "warn")]
    document = fleet(VerifyRun(["i"]), *checks, check("a100-01", "links"), check("a100-02", "links", "pass"))
    assert [(one.mend, one.hosts) for one in commands.commands(document)] == [
        ("kernel", ["h100-01"]),
        ("links", ["a100-01", "h100-01"]),
        ("runtime", ["h100-02"]),
    ]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_the_command(form: Any) -> None:
    document = plain(fleet(VerifyRun(["i"]), check("h100-01", "links")))
    assert "ansible-playbook -i i zerocopy.rdma.site --tags links --limit h100-01" in form(document)
    assert document["checks"][0]["remedy"] == remedies.WAYS["links"].sentence


def test_a_terminal_is_spared_a_command_for_hundreds_of_hosts() -> None:
    hosts = {f"node-{number:04}": DocumentHost("h100") for number in range(200)}
    document = plain(
        VerifyDocument(None, "0.1.0", hosts, [check(name, "links") for name in list(hosts)[:-1]], run=VerifyRun(["i"]))
    )
    assert "  links, on 199 hosts: the command is in the report" in rendered(document, "summary").splitlines()
    assert "--limit node-0000,node-0001," in rendered(document, "html")


def test_the_document_keeps_how_ansible_was_called(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    hostvars: dict[str, Any] = {name: {"group_names": ["h100"]} for name in ("n1", "n2")}
    context = {
        "ansible_inventory_sources": [str(tmp_path / "inventory/hosts.yml"), "/etc/ansible/hosts", "n1,n2,"],
        "ansible_run_tags": ["links", "host"],
        "groups": {"all": ["n1", "n2", "n3"], "h100": ["n1", "n2"]},
    }
    found = [asdict(document({**context, "hostvars": hostvars}, hosts).run) for hosts in (["n1", "n2"], ["n1"])]
    assert found[0] == {
        "inventory": ["inventory/hosts.yml", "/etc/ansible/hosts", "n1,n2,"],
        "limit": None,
        "hosts": None,
        "tags": ["host", "links"],
        "groups": ["h100"],
        "extra": [],
    }
    assert found[1]["groups"] == [], "n2 is in the group and not in the document"


def test_all_ways_are_tags_of_site() -> None:
    assert {way.tags for way in remedies.WAYS.values()} <= set(_tags.TAGS["site"])


def test_no_text_for_users_names_a_playbook_that_only_a_checkout_has() -> None:
    """Users of the installed collection have zerocopy.rdma.site, and no site.yml."""
    sources = [*CHECKOUT.glob("plugins/**/*.py"), *CHECKOUT.glob("roles/*/tasks/*.yml")]
    texts = {path: re.sub(r"(?m)^\s*#.*$", "", path.read_text("utf-8")) for path in sources}
    # The files of a role have names of their own.
    named = r"(?<!_tasks: )\b(site|prepare|provision)\.yml"
    assert not [str(path) for path, text in texts.items() if re.search(named, text)]
