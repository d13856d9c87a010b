# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Arguments that a site adds to those with which the collection starts DRANET."""

from __future__ import annotations

import re
from typing import Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver import objects
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import versions
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, wrong

ARGUMENTS = "rdma_driver_arguments"

# With the value in the same word: DRANET silently ignores everything after a word that is not an argument.
_ARGUMENT = re.compile(r"--([a-z][a-z0-9_-]*)=[^\n]*")
_SET = {
    text.split("=")[0] for text in objects.arguments(objects.Driver("", image="", filter="", feature_gates={"": True}))
}
# The probes and the volume of the DaemonSet are made for the defaults of these.
_RELIED_ON = {"--bind-address", "--db-path"}


def checked(given: Sequence[str], version: str) -> Tuple[str, ...]:
    """The arguments, if this version of DRANET takes them beside the collection's own. Raises PlanError."""
    known = versions.more_arguments(versions.dranet(version))
    for position, text in enumerate(given):
        at = f"{ARGUMENTS}[{position}]"
        match = _ARGUMENT.fullmatch(text)
        if match is None:
            raise PlanError(wrong(at, text, "it must be --name=value in one line"))
        name = f"--{match[1]}"
        if name in _SET:
            raise PlanError(wrong(at, text, f"but the role sets {name} itself: use its other variables"))
        if name in _RELIED_ON:
            raise PlanError(wrong(at, text, f"but the DaemonSet of the role needs the default of {name}"))
        if known is not None and match[1] not in known:
            right = f"but DRANET {version} has no {name}, and exits on an unknown argument"
            raise PlanError(wrong(at, text, right))
    return tuple(given)
