# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A node's concerns: what differs from what is wanted, and the change of it, by the same code.

Check mode of a concern and its part of a comparison are the same.
"""

from __future__ import annotations

import traceback
from typing import Any, Callable, Dict, Mapping

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
    "inject": _part("dict"),
    "images": _part("list"),
    "plan": {"type": "path"},
    "parts": {
        "type": "list",
        "elements": "str",
        "choices": ["packages", "kernel", "links", "runtime", "inject", "images"],
    },
    "compare": {"type": "bool", "default": False},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}


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


def _inject(options: Options, check: bool) -> Dict[str, Any]:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons.inject import converge

    return converge(options, check)


def _images(options: Options, check: bool) -> Dict[str, Any]:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import image_options, images

    found = [images.converge(image_options.request(own, check), Files()) for own in options["images"]]
    joined = {
        name: [item for image in found for item in image.get(name, [])] for name in ("changes", "diff", "warnings")
    }
    return {"changed": bool(joined["changes"]), **joined}


CONCERNS: Dict[str, Callable[[Options, bool], Dict[str, Any]]] = {
    "packages": _packages,
    "kernel": _kernel,
    "links": _links,
    "runtime": _runtime,
    "inject": _inject,
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
