# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What Ansible resolves and loads while it parses playbooks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.filter.strategy_roles import strategy_roles

CHECKOUT = Path(__file__).resolve().parents[3]
PLAYBOOKS = sorted((CHECKOUT / "playbooks").glob("*.yml"))
NAMES = [playbook.stem for playbook in PLAYBOOKS]
OURS = ("ansible.builtin.", "zerocopy.rdma.")


def tasks_of(path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every task of a file of plays or tasks and of what it imports, with the file that it stands in.

    The roles of strategies count as imported: site.yml includes them for a fleet without a cluster as well.
    """
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
    for module in ("ansible.builtin.import_role", "ansible.builtin.include_role"):
        if module == "ansible.builtin.include_role" and "loop" not in found:
            continue
        for role in named(found.get(module, {}).get("name", ""), str(found.get("loop"))):
            tasks = CHECKOUT / "roles" / role.removeprefix("zerocopy.rdma.") / "tasks"
            yield from tasks_of(tasks / f"{found[module].get('tasks_from', 'main')}.yml")


def named(name: str, loop: str) -> list[str]:
    """The roles that a task imports, or includes in a loop over those of strategies."""
    if not name.startswith("{{"):
        return [name] if name else []
    parts = re.findall(r"'(\w+)' \| zerocopy\.rdma\.strategy_roles", loop)
    return [role for part in parts for role in strategy_roles(part)]


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
    assert files >= {"playbooks/provision_cluster.yml", "roles/rdma_host_device/tasks/deploy.yml"}
    assert "roles/rdma_driver/tasks/gpu.yml" not in files


# These are imported after others.
@pytest.mark.parametrize("name", sorted({*NAMES} - {"images", "preflight_cluster", "provision_result"}))
def test_filters_are_loaded_before_workers_are_forked(name: str) -> None:
    """Ansible itself evaluates a pattern of hosts; a worker would load them for its one task and host."""
    found = [task for _path, task in tasks_of(CHECKOUT / "playbooks" / f"{name}.yml")]
    uses = [task for task in found if "| zerocopy.rdma." in str({**task, "tasks": None})]
    assert "| zerocopy.rdma." in uses[0].get("hosts", "")


@pytest.mark.parametrize("playbook", PLAYBOOKS, ids=NAMES)
def test_preflight_knows_every_tag(playbook: Path) -> None:
    known = yaml.safe_load((CHECKOUT / "playbooks" / "vars" / "fleet.yml").read_text("utf-8"))["__tags"]
    tags = {tag for _path, task in tasks_of(playbook) for tag in task.get("tags", [])}
    assert tags <= {*known, "always", "preflight"}


CHANGE = {
    f"zerocopy.rdma.{name}"
    for name in (
        "applyset",
        "container_image",
        "node",
        "node_extended_resources",
        "node_labels",
        "object_fields",
    )
}


@pytest.mark.parametrize("role", ["rdma_driver", "rdma_shared_device", "rdma_host_device"])
def test_objects_are_validated_before_nodes_get_labels(role: str) -> None:
    """Labels bring pods, so that what the API server rejects must not be found out after them."""
    tasks = yaml.safe_load((CHECKOUT / "roles" / role / "tasks" / "deploy.yml").read_text("utf-8"))
    sets = [number for number, task in enumerate(tasks) if "zerocopy.rdma.applyset" in task]
    labels = [task.get("zerocopy.rdma.node_labels", {}).get("nodes", "") for task in tasks]
    (labelled,) = (number for number, nodes in enumerate(labels) if nodes.endswith("plan.labels }}"))
    assert tasks[sets[0]]["check_mode"] is True
    assert sets[0] < labelled < sets[1]


@pytest.mark.parametrize("role", ["rdma_driver", "rdma_shared_device", "rdma_host_device"])
def test_a_driver_or_plugin_is_updated_before_nodes_join_it(role: str) -> None:
    """Its pods start with the labels, and a configuration of before may offer NICs that a new node needs itself."""
    tasks = yaml.safe_load((CHECKOUT / "roles" / role / "tasks" / "deploy.yml").read_text("utf-8"))
    place = next(number for number, task in enumerate(tasks) if "block" in task)
    leave, update = tasks[place]["block"]
    changes = [task for task in tasks if CHANGE & set(task) and not task.get("check_mode")]
    label, last = changes[0], next(task for task in changes if "zerocopy.rdma.applyset" in task)
    assert tasks[place + 1] is label
    assert update["register"] == f"{role}_updated"
    plan = label["zerocopy.rdma.node_labels"]["nodes"].removesuffix(".labels }}").removeprefix("{{ ")
    when = str(tasks[place]["when"])
    assert f"{plan}.joining | length > 0" in when
    assert "not ansible_check_mode" in when
    assert leave["zerocopy.rdma.node_labels"]["nodes"] == f"{{{{ {plan}.leaving }}}}"
    # The same objects, without the wait for pods of nodes that have no label yet.
    own, whole = (task["zerocopy.rdma.applyset"] for task in (update, last))
    assert own == {**{name: whole[name] for name in own}, "prune": False}
    assert set(whole) - set(own) <= {"state", "wait", "unready_nodes"}


def test_a_move_verifies_the_nodes_of_its_wave() -> None:
    """In a play with `serial`, `ansible_play_hosts_all` has the nodes of later waves, which nobody has tested yet."""
    roles = CHECKOUT / "roles"
    (include,) = yaml.safe_load((roles / "rdma_migrate" / "tasks" / "move_verify.yml").read_text("utf-8"))
    assert include["vars"]["rdma_verify_batch"] == "{{ ansible_play_batch }}"
    for name in ("host.yml", "live.yml", "round.yml", "collect.yml", "report.yml"):
        assert "ansible_play_hosts" not in (roles / "rdma_verify" / "tasks" / name).read_text("utf-8")


def test_the_gpu_driver_is_checked_before_the_driver_is_deployed() -> None:
    """A missing helm must not be found out when nodes have labels and DRANET runs."""
    tasks = yaml.safe_load((CHECKOUT / "roles" / "rdma_driver" / "tasks" / "provision.yml").read_text("utf-8"))
    names = [task["name"] for task in tasks]
    deployed = [names.index(name) for name in ("Restart", "Driver", "GPU driver")]
    assert names.index("Check that the GPU driver can be deployed") < min(deployed)


def test_configuration_and_cluster_are_checked_before_anything_changes() -> None:
    """A wrong variable, or an API server that cannot be used, is found while all nodes are as they were."""
    tasks = [task for _path, task in tasks_of(CHECKOUT / "playbooks" / "site.yml")]
    names = [str(task.get("name")) for task in tasks]
    checks = [
        "Fail on invalid configuration",
        "Query the cluster",
        "Fail without a usable API server",
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
