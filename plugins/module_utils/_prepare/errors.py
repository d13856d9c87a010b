# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The one exception that leaves the library: the problem, in terms that users know."""

from __future__ import annotations

from typing import Any, Callable

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Read, RefusedError


class HostError(Exception):
    """Something on the node, or in what was asked for, makes the change impossible. The message is for the user."""


class UnreadableError(HostError):
    """A path exists but cannot be read as a file: no permission, a directory, a FIFO."""


def checked(option: str, value: Any, rule: Callable[[Any], Read], more: str = "") -> Read:
    """What a rule reads in an option's value; ``more`` stands after what the rule says.

    :raises HostError: the rule raises RefusedError.
    """
    try:
        return rule(value)
    except RefusedError as error:
        raise HostError(f"{option} is {value!r}, {error}{more}") from error
