# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A node's concerns: what differs from what is wanted, and the change of it, by the same code.

Check mode of a concern and its part of a comparison are the same.
"""

from __future__ import annotations

import traceback
from typing import Any, Callable, Dict, Mapping, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError

Options = Mapping[str, Any]


def _part(kind: str) -> Dict[str, Any]:
    return {"type": kind, "elements": "dict"} if kind == "list" else {"type": kind}


# Of the module. The options of each concern are read as its own specification says, see ``specification``.
SPEC: Dict[str, Dict[str, Any]] = {
    "packages": {"type": "list", "elements": "str"},
    "kernel": _part("dict"),
    "links": _part("dict"),
    "runtime": _part("dict"),
    "daemons": _part("dict"),
    "images": _part("list"),
    "plan": {"type": "path"},
    "parts": {
        "type": "list",
        "elements": "str",
        "choices": ["packages", "kernel", "links", "runtime", "daemons", "images"],
    },
    "compare": {"type": "bool", "default": False},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}


def _joined(results: Sequence[Mapping[str, Any]]) -> Dict[str, Any]:
    found = {
        name: [item for each in results for item in each.get(name, [])] for name in ("changes", "diff", "warnings")
    }
    return {"changed": bool(found["changes"]), **found}


# In the order in which they are changed. The imports are inside, so that what is not asked for is not loaded.


def _packages(options: Options, check: bool) -> Dict[str, Any]:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import packages

    if not check:
        raise HostError("packages are only compared: the distribution's package manager installs them")
    return packages.compare(options["name"])


def _kernel(options: Options, check: bool) -> Dict[str, Any]:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.converge import converge

    return converge(options, check)


def _links(options: Options, check: bool) -> Dict[str, Any]:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.converge import converge

    return converge(options, check)


def _runtime(options: Options, check: bool) -> Dict[str, Any]:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.converge import converge
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.options import request

    return converge(request(dict(options), check), Files(options["root"])).result()


def _with_socket(options: Options) -> Options:
    """Options of a daemon that asks the runtime which runs the pods, with its socket where a variable names it."""
    if options.get("runtime", "auto") in ("auto", "none") or options["state"] == "absent":
        return options
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import registry

    files = Files(options["root"])
    layout = registry.detect(files, options["runtime"])
    socket = registry.configured(layout, registry.daemon(files, layout)).socket
    return {**options, "runtime_socket": socket}


def _daemons(options: Options, check: bool) -> Dict[str, Any]:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons import every

    found = [every.converge(name, _with_socket(own), check) for name, own in options.items()]
    # At most one NRI plugin is wanted; the others have what they say of themselves by their names.
    return {**{name: value for each in found for name, value in each.items()}, **_joined(found)}


def _images(options: Options, check: bool) -> Dict[str, Any]:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import image_options, images

    return _joined([images.converge(image_options.request(own, check), Files()) for own in options["images"]])


CONCERNS: Dict[str, Callable[[Options, bool], Dict[str, Any]]] = {
    "packages": _packages,
    "kernel": _kernel,
    "links": _links,
    "runtime": _runtime,
    "daemons": _daemons,
    "images": _images,
}
_ALWAYS: Dict[str, Any] = {
    "changed": False,
    "changes": [],
    "unfinished": False,
    "warnings": [],
    "reboot_reasons": [],
    "error": None,
}


def _answer(concern: str, read: Callable[[], Options], diff: bool) -> Dict[str, Any]:
    try:
        result = CONCERNS[concern](read(), True)
    except HostError as error:
        return {**_ALWAYS, "error": str(error)}
    # A fault in one concern must not hide what the others have to say.
    except Exception as error:
        text = f"unexpected {type(error).__name__}: {error}"
        return {**_ALWAYS, "error": text, "exception": traceback.format_exc()}
    return {**_ALWAYS, **{name: value for name, value in result.items() if diff or name != "diff"}}


def compare(wanted: Mapping[str, Callable[[], Options]], diff: bool) -> Dict[str, Any]:
    """What would be changed, by concern, and whether anything ``differs``. Changes nothing.

    ``wanted`` has a function for each concern that is asked for; it returns the concern's options, read as their
    specification says, and raises HostError where they are wrong. An answer is what ``change`` returns in check mode
    with ``error`` beside it, ``None`` unless the concern could not be compared.
    """
    concerns = {name: _answer(name, wanted[name], diff) for name in CONCERNS if name in wanted}
    differing = any(answer[key] for answer in concerns.values() for key in ("changed", "unfinished", "error"))
    return {"changed": False, "differs": differing, "concerns": concerns}


def change(concern: str, options: Options, check: bool) -> Dict[str, Any]:
    """Bring one concern of the node to these options, or in check mode report the differences.

    :raises HostError: an option is wrong or cannot be met (nothing was changed then), or the change failed.
    """
    return CONCERNS[concern](options, check)
