# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What differs on a node from what is wanted, asked of each concern as the check mode of its module would."""

from __future__ import annotations

import traceback
from typing import Any, Callable, Dict, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError

Options = Mapping[str, Any]

# In the order in which they are changed. The imports are inside, so that what is not asked for is not loaded.


def _packages(options: Options) -> Dict[str, Any]:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import packages

    return packages.compare(options["name"])


def _kernel(options: Options) -> Dict[str, Any]:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.converge import converge

    return converge(options, True)


def _links(options: Options) -> Dict[str, Any]:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.converge import converge

    return converge({**options, "confirm": None}, True)


def _runtime(options: Options) -> Dict[str, Any]:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.converge import converge
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.options import request

    return converge(request(dict(options), True), Files(options["root"])).result()


def _inject(options: Options) -> Dict[str, Any]:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons.inject import converge

    return converge(options, True)


def _images(options: Options) -> Dict[str, Any]:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import image_options, images

    found = [images.converge(image_options.request(own, True), Files()) for own in options["images"]]
    changes = [change for concern in found for change in concern["changes"]]
    return {"changed": bool(changes), "changes": changes}


CONCERNS: Dict[str, Callable[[Options], Dict[str, Any]]] = {
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
        result = CONCERNS[concern](read())
    except HostError as error:
        return {**_ALWAYS, "error": str(error)}
    # A fault in one concern must not hide what the others have to say.
    except Exception as error:
        text = f"unexpected {type(error).__name__}: {error}"
        return {**_ALWAYS, "error": text, "exception": traceback.format_exc()}
    return {**_ALWAYS, **{name: value for name, value in result.items() if diff or name != "diff"}}


def compare(wanted: Mapping[str, Callable[[], Options]], diff: bool) -> Dict[str, Any]:
    """What would be changed, by concern, and whether anything ``differs``. Changes nothing.

    ``wanted`` has a function for each concern that is asked for; it returns the options of the concern's module, read
    as its specification says, and raises HostError where they are wrong. An answer is the module's result in check
    mode with ``error`` beside it, ``None`` unless the concern could not be compared.
    """
    concerns = {name: _answer(name, wanted[name], diff) for name in CONCERNS if name in wanted}
    differing = any(answer[key] for answer in concerns.values() for key in ("changed", "unfinished", "error"))
    return {"changed": False, "differs": differing, "concerns": concerns}
