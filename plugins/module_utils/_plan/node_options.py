# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The node's part of the plan: what the module ``node`` is to make of one host, part by part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.host_links import LinkPlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import daemons
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.daemon import NodeKnown

Values = Mapping[str, Any]
PartOptions = Dict[str, Any]

PRESENT, ABSENT = "present", "absent"
_ROOT, _LIVE = "rdma_discover_root", "/"
_NO_RUNTIME = "none"


@dataclass(frozen=True)
class NodeOptions:
    """Options of each part of a node, as the part's ``SPEC`` in ``_prepare`` has them.

    ``None`` where a node has no such part: no packages in an image, no runtime with ``rdma_runtime_flavour=none``, no
    images without archives. ``daemons`` are by name.
    """

    packages: Optional[List[str]] = None
    kernel: Optional[PartOptions] = None
    links: Optional[PartOptions] = None
    runtime: Optional[PartOptions] = None
    daemons: Optional[Dict[str, PartOptions]] = None
    images: Optional[List[PartOptions]] = None


def _same(values: Values, prefix: str, *names: str) -> PartOptions:
    """Options that have the names of their variables."""
    return {name: values[prefix + name] for name in names}


def _kernel(values: Values) -> PartOptions:
    # Without a value, they stay on the node as they are.
    limits = {"netns_mode": registry.netns_mode(values), "user_memlock": values["rdma_kernel_user_memlock"]}
    names = ("modules", "options", "blacklist", "update_initramfs")
    return {
        "root": values[_ROOT],
        **_same(values, "rdma_kernel_", *names),
        **{name: value for name, value in limits.items() if value},
    }


def _links(values: Values, links: LinkPlan) -> PartOptions:
    return {
        "root": values[_ROOT],
        "rollback_seconds": values["rdma_links_rollback_seconds"],
        "links": links.links,
        "unmanaged": links.unmanaged,
        "qos": links.qos,
    }


def _runtime(values: Values) -> PartOptions:
    return {
        "root": values[_ROOT],
        **_same(values, "rdma_runtime_", "validator", "memlock", "restart", "recover_sandboxes"),
        "runtime": values["rdma_runtime_flavour"],
        "request_timeout": values["rdma_runtime_nri_request_timeout"],
        "memlock_handlers": values["rdma_runtime_handlers"],
    }


def images(values: Values) -> Optional[List[PartOptions]]:
    """The images of a host's strategy that come from archives, for the runtime that runs its pods."""
    strategy = registry.of_host(values)
    runtime = values["rdma_runtime_flavour"]
    if strategy is None or values[_ROOT] != _LIVE or runtime == _NO_RUNTIME:
        return None
    archived = [image for image in strategy.images(values) if image.archive]
    return [{"name": image.name, "archive": image.archive, "runtime": runtime} for image in archived] or None


def present(
    values: Values,
    links: LinkPlan,
    facts: Optional[Facts] = None,
    host: str = "",
    group: str = "",
    leaf: Optional[str] = None,
) -> NodeOptions:
    """What a host with these variables (in their types, defaults included), links, facts and names shall have.

    ``leaf`` is its leaf group, as ``NodeKnown`` has it.
    """
    return NodeOptions(
        packages=values["rdma_kernel_packages"] if values[_ROOT] == _LIVE else None,
        kernel=_kernel(values),
        links=_links(values, links),
        runtime=_runtime(values) if values["rdma_runtime_flavour"] != _NO_RUNTIME else None,
        daemons=daemons.options(values, True, NodeKnown(facts, links.rails, leaf), host, group),
        images=images(values),
    )


def absent(values: Values) -> NodeOptions:
    """What it takes to put a host back as it was before. Its packages and images stay."""
    gone = {"root": values[_ROOT], "state": ABSENT}
    runtime = {**gone, **_same(values, "rdma_runtime_", "recover_sandboxes"), "runtime": values["rdma_runtime_flavour"]}
    return NodeOptions(
        kernel={**gone, **_same(values, "rdma_kernel_", "update_initramfs")},
        links=gone,
        # Without a runtime to ask as well: an earlier run may have changed its files.
        runtime=runtime,
        daemons=daemons.options(values, wanted=False),
    )
