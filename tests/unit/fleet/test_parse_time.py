# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What Ansible resolves and loads while it parses playbooks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _tags

CHECKOUT = Path(__file__).resolve().parents[3]
PLAYBOOKS = sorted((CHECKOUT / "playbooks").glob("*.yml"))
NAMES = [playbook.stem for playbook in PLAYBOOKS]
OURS = ("ansible.builtin.", "zerocopy.rdma.")


def tasks_of(path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every task of a file of plays or tasks and of what it imports, with the file that it stands in."""
    for found in yaml.safe_load(path.read_text("utf-8")):
        yield from task_and_imports(path, found)


def task_and_imports(path: Path, found: dict[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    yield path, found
    for section in ("pre_tasks", "tasks", "post_tasks", "handlers", "block", "rescue", "always"):
        for inner in found.get(section, []):
            yield from task_and_imports(path, inner)
    for module in ("ansible.builtin.import_playbook", "ansible.builtin.import_tasks"):
        if module in found:
            yield from tasks_of(path.parent / found[module])
    role = found.get("ansible.builtin.import_role")
    if role:
        tasks = CHECKOUT / "roles" / role["name"].removeprefix("zerocopy.rdma.") / "tasks"
        yield from tasks_of(tasks / f"{role.get('tasks_from', 'main')}.yml")


def foreign(playbook: Path) -> set[str]:
    """Modules of other collections, each with its file."""
    return {
        f"{path.relative_to(CHECKOUT)}: {key}"
        for path, task in tasks_of(playbook)
        for key in task
        if key.count(".") == 2 and not key.startswith(OURS)
    }


@pytest.mark.parametrize("playbook", PLAYBOOKS, ids=NAMES)
def test_no_module_of_another_collection_is_resolved_in_advance(playbook: Path) -> None:
    """ansible-core 2.18 resolves all of them, and would refuse the playbook even for a fleet without a cluster."""
    assert foreign(playbook) == set()


def test_imports_are_followed() -> None:
    files = {str(path.relative_to(CHECKOUT)) for path, _task in tasks_of(CHECKOUT / "playbooks" / "site.yml")}
    assert files >= {"playbooks/provision_cluster.yml", "roles/rdma_provision/tasks/apply.yml"}
    assert "roles/rdma_driver/tasks/chart.yml" not in files


# These use none before others that do.
@pytest.mark.parametrize("name", sorted({*NAMES} - {"access", "matched_hosts", "provision_result", "summary"}))
def test_filters_are_loaded_before_workers_are_forked(name: str) -> None:
    """Ansible itself evaluates a pattern of hosts; a worker would load them for its one task and host."""
    found = [task for _path, task in tasks_of(CHECKOUT / "playbooks" / f"{name}.yml")]
    uses = [task for task in found if "| zerocopy.rdma." in str({**task, "tasks": None})]
    assert "| zerocopy.rdma." in uses[0].get("hosts", "")


@pytest.mark.parametrize("playbook", PLAYBOOKS, ids=NAMES)
def test_preflight_knows_every_tag(playbook: Path) -> None:
    known = {tag for tags in _tags.TAGS.values() for tag in tags}
    tags = {tag for _path, task in tasks_of(playbook) for tag in task.get("tags", [])}
    assert tags <= {*known, "always", "preflight"}
    roles = [role["role"] for _path, play in tasks_of(playbook) for role in play.get("roles", ())]
    for role in roles:
        main = CHECKOUT / "roles" / role.removeprefix("zerocopy.rdma.") / "tasks" / "main.yml"
        tags |= {tag for _path, task in tasks_of(main) for tag in task.get("tags", [])}
    # Whoever chooses one of them gets something.
    assert tags >= set(_tags.TAGS.get(playbook.stem, ()))


CHANGE = {
    f"zerocopy.rdma.{name}"
    for name in (
        "applyset",
        "cluster_apply",
        "container_image",
        "node",
        "node_extended_resources",
        "node_labels",
    )
}


def test_a_move_verifies_the_nodes_of_its_wave() -> None:
    """In a play with `serial`, `ansible_play_hosts_all` has the nodes of later waves, which nobody has tested yet."""
    roles = CHECKOUT / "roles"
    (include,) = yaml.safe_load((roles / "rdma_migrate" / "tasks" / "move_verify.yml").read_text("utf-8"))
    assert include["vars"]["rdma_verify_batch"] == "{{ ansible_play_batch }}"
    for name in ("host.yml", "live.yml", "round.yml", "report.yml"):
        assert "ansible_play_hosts" not in (roles / "rdma_verify" / "tasks" / name).read_text("utf-8")


def test_the_gpu_driver_is_checked_before_the_driver_is_deployed() -> None:
    """A missing helm must not be found out when nodes have labels and DRANET runs."""
    tasks = yaml.safe_load((CHECKOUT / "roles" / "rdma_provision" / "tasks" / "apply.yml").read_text("utf-8"))
    _again, check, apply, told, gpu, claims = tasks
    assert "zerocopy.rdma.show" in told
    files = [task["ansible.builtin.include_role"]["tasks_from"] for task in (check, gpu)]
    assert files == ["chart_check", "chart"]
    assert check["loop"] == gpu["loop"]
    assert "zerocopy.rdma.cluster_apply" in apply
    # The device classes of the chart have to be there.
    assert claims["ansible.builtin.include_tasks"]["file"] == "claims.yml"
    assert (
        "difference(['claims'] if rdma_provision_plan.charts else [])" in apply["zerocopy.rdma.cluster_apply"]["parts"]
    )


def test_the_gpu_driver_is_checked_before_anything_is_removed() -> None:
    """Teardown asks the same entry point before it changes anything."""
    tasks = yaml.safe_load((CHECKOUT / "roles" / "rdma_provision" / "tasks" / "unused.yml").read_text("utf-8"))
    (check,) = [task for task in tasks if "ansible.builtin.include_role" in task]
    assert check["ansible.builtin.include_role"]["tasks_from"] == "chart_helm"
    (tried,) = [task for task in tasks if "zerocopy.rdma.cluster_apply" in task]
    assert tried["check_mode"] is True
    teardown = yaml.safe_load((CHECKOUT / "playbooks" / "teardown.yml").read_text("utf-8"))
    plays = [play for play in teardown if "tasks" in play]
    entries = [
        [role_of(task).get("tasks_from", "main") for task in play["tasks"] if provisions(task)] for play in plays
    ]
    assert entries == [["unused"], ["remove"], [], []]


def role_of(task: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = task.get("ansible.builtin.import_role", {})
    return found


def provisions(task: dict[str, Any]) -> bool:
    return role_of(task).get("name") == "zerocopy.rdma.rdma_provision"


def test_configuration_and_cluster_are_checked_before_anything_changes() -> None:
    """A wrong variable, or an API server that cannot be used, is found while all nodes are as they were."""
    tasks = [task for _path, task in tasks_of(CHECKOUT / "playbooks" / "site.yml")]
    names = [str(task.get("name")) for task in tasks]
    checks = [
        "Fail on invalid configuration",
        "Ask the API server whether it can be used",
        "Fail on what facts or the cluster do not allow",
        "Fail if pods hold devices that their node would lose",
    ]
    places = [names.index(name) for name in checks]
    assert places == sorted(places)
    compares = [bool((task.get("zerocopy.rdma.node") or {}).get("compare")) for task in tasks]
    assert any(compares)
    changes = [
        index
        for index, task in enumerate(tasks)
        if CHANGE & set(task) and not task.get("check_mode") and not compares[index]
    ]
    assert places[-1] < changes[0]
    # An API server that cannot be used is found before nodes are read. Nodes and the cluster are planned once.
    assert names.count("Check the variables") == 1
    asking = [task["zerocopy.rdma.plan"] for task in tasks[: changes[0]] if "zerocopy.rdma.plan" in task]
    whole = "{{ ['node', 'cluster'] if __whole else ['node'] }}"
    assert [each["parts"] for each in asking] == [["tags"], ["variables"], ["access"], ["api"], whole, ["waves"]]


@pytest.mark.parametrize("playbook", ["drift", "prepare", "provision", "site", "workloads"])
def test_variables_are_checked_before_nodes_are_read(playbook: str) -> None:
    names = [str(task.get("name")) for _path, task in tasks_of(CHECKOUT / "playbooks" / f"{playbook}.yml")]
    first = min(names.index(name) for name in ("Gather", "Gather RDMA facts", "Plan") if name in names)
    assert names.index("Fail on unknown tags") < names.index("Fail on invalid configuration") < first
