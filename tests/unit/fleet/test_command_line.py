# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A command line with which Ansible itself would do nothing, or less than asked, and report success, is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from ansible import context

from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _tags
from ansible_collections.zerocopy.rdma.tests.unit.fleet.playbook_run import PLAYBOOKS, played


@pytest.mark.parametrize(
    ("playbook", "skipped", "others"),
    [
        ("drift", "runtime", "drift,prepare,kernel,links"),
        ("drift", "drift", "prepare,kernel,links,runtime"),
        ("site", "prepare", "discover,drift,kernel,links,runtime,provision,driver,claims"),
        ("verify", "pod,host", "verify,cluster,drift,prepare,kernel,links,runtime"),
        ("cabling", "all", "cabling"),
        # Of which the preflight is another one.
        ("teardown", "links", "prepare,kernel,runtime,provision,driver,claims"),
    ],
)
def test_a_part_cannot_be_left_out(playbook: str, skipped: str, others: str, tmp_path: Path) -> None:
    arguments = ["-i", "n1,", "--skip-tags", skipped, str(PLAYBOOKS / f"{playbook}.yml")]
    done = played(tmp_path, *arguments, "-e", "ansible_connection=local")
    said = " ".join(done.stdout.split())
    assert done.returncode == 2, done.stdout + done.stderr
    left = ",".join(sorted(skipped.split(",")))
    assert f"--skip-tags {left} would also skip tasks that the other parts need." in said
    assert f"Use --tags instead, with the parts that you want, out of {others}." in said


def test_the_only_part_cannot_be_left_out(tmp_path: Path) -> None:
    arguments = ["-i", "n1,", "--skip-tags", "discover", str(PLAYBOOKS / "facts.yml")]
    done = played(tmp_path, *arguments, "-e", "ansible_connection=local")
    said = " ".join(done.stdout.split())
    assert done.returncode == 2, done.stdout + done.stderr
    assert "--skip-tags discover would also skip tasks that everything else needs. Leave it out." in said


@pytest.mark.parametrize("name", sorted(_tags.TAGS))
def test_no_tag_of_a_playbook_can_be_left_out(name: str) -> None:
    """Each is on tasks that all parts need, and so are those of drift where nodes are compared with the plan."""
    plays = yaml.safe_load((PLAYBOOKS / f"{name}.yml").read_text("utf-8"))
    tasks = [task for play in plays for task in play.get("tasks", ())]
    ways = {("ansible.builtin.import_playbook", "preflight.yml"), ("ansible.builtin.import_tasks", "tasks/tags.yml")}
    (check,) = [each for each in (*plays, *tasks) if any(each.get(module) == file for module, file in ways)]
    compared = _tags.TAGS["drift"] if name in ("health", "support_bundle", "verify") else ()
    assert set(check["vars"]["rdma_preflight_parts"]) >= {*_tags.TAGS[name], *compared}


@pytest.mark.parametrize(
    ("playbook", "tag", "said"),
    [
        ("provision", "claim", "No task of provision has the tag claim. Known tags: provision, driver, claims."),
        ("teardown", "claim", "No task of teardown has the tag claim. Known tags:"),
        (
            "drift",
            "always",
            "--tags always selects no part of drift. Known tags: drift, prepare, kernel,",
        ),
        ("site", "preflight", "--tags preflight selects no part of site. Known tags: discover,"),
        ("prepare", "driver", "No task of prepare has the tag driver; it is a tag of provision, site, teardown. Known"),
    ],
)
def test_a_tag_that_no_task_has_is_refused(playbook: str, tag: str, said: str, tmp_path: Path) -> None:
    """Ansible itself would do nothing and report success."""
    arguments = ["-i", "n1,", "--tags", tag, str(PLAYBOOKS / f"{playbook}.yml")]
    done = played(tmp_path, *arguments, "-e", "ansible_connection=local", "-e", "rdma_cluster=none")
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("playbooks", "tags", "wrong"),
    [
        (["zerocopy.rdma.site"], ["links", "claims"], []),
        (["zerocopy.rdma.audit"], ["claims"], ["claims"]),
        # What the one does not have, the other has.
        (["prepare.yml", "/srv/provision.yml"], ["driver", "never"], []),
        (["prepare.yml", "provision.yml"], ["host"], ["host"]),
        (["zerocopy.rdma.site"], ["all", "always"], []),
        (["zerocopy.rdma.site"], ["tagged"], []),
    ],
)
def test_tags_of_what_is_run(
    monkeypatch: pytest.MonkeyPatch, playbooks: list[str], tags: list[str], wrong: list[str]
) -> None:
    monkeypatch.setattr(context, "CLIARGS", {"args": playbooks})
    known = {"ansible_run_tags": tags, "playbook_dir": str(PLAYBOOKS)}
    assert [text.split("tag ")[1].split(";")[0] for text in _tags.problems(known)] == wrong
    # Of a user who imports one of them.
    assert _tags.problems({**known, "playbook_dir": "/srv"}) == []


@pytest.mark.parametrize("playbook", ["site", "teardown"])
def test_hosts_that_the_inventory_lacks_are_refused(playbook: str, tmp_path: Path) -> None:
    done = played(tmp_path, "-i", "n1,", "-e", "rdma_hosts=h100", str(PLAYBOOKS / f"{playbook}.yml"))
    assert done.returncode == 2, done.stdout + done.stderr
    assert "rdma_hosts is 'h100', which matches no host of the inventory." in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("hosts", "lacking"),
    [
        ("n1,n9", "n9"),
        ("n1:n8:n9", "n8, n9"),
        # Everybody would be in a run from which one is to be kept out.
        ("all:!n9", "n9"),
        ("n1,n2", ""),
        ("all:!retired:&n*", ""),
        ("all[0:1],!retired", ""),
        ("fd00::2", ""),
    ],
)
def test_a_part_of_the_hosts_that_the_inventory_lacks_is_refused(hosts: str, lacking: str, tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").write_text("{all: {hosts: {n1: , n2: , 'fd00::2': }, children: {retired: {}}}}")
    given = json.dumps({"rdma_hosts": hosts})
    done = played(tmp_path, "-i", "hosts.yml", "-e", given, str(PLAYBOOKS / "matched_hosts.yml"))
    assert (done.returncode == 2) == bool(lacking), done.stdout + done.stderr
    assert not lacking or f", of which {lacking} matches no host of the inventory." in " ".join(done.stdout.split())


def test_the_page_lists_the_tags_of_each_playbook() -> None:
    page = (PLAYBOOKS.parent / "docs/playbooks.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \|.*\| (.*) \|$", page.partition("\n\n`--tags`")[0], re.MULTILINE)
    listed = {name: tuple(tags.strip("`").split("`, `")) for name, tags in rows}
    assert listed == {name: tuple(tags) for name, tags in _tags.TAGS.items()}
