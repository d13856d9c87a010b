# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The document of health as a page for a browser, in the look of the report of verify."""

from __future__ import annotations

from typing import Any, Dict

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.document import HealthDocument
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.memory import (
    SETTLING,
    SICK,
    TAINTED,
    UNSEEN,
    UNTAINTED,
    WELL,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.table import (
    by_state,
    headline,
    of_no_nic,
    rule,
    said,
    why,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats import page
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

# How states and events look: as verdicts do in the report of verify.
_LOOKS = {
    SICK: "fail",
    SETTLING: "warn",
    UNSEEN: "impossible",
    WELL: "pass",
    TAINTED: "warn",
    UNTAINTED: "pass",
}
# What a browser shows at once; health.json has all of it.
_UP_TO = 500


def html(whole: HealthDocument) -> str:
    """The whole page."""
    filters: Dict[str, Any] = {
        "counted": counted,
        "look": lambda what: _LOOKS.get(what, "impossible"),
        "rule": rule,
        "said": said,
        "why": why,
    }
    return page.rendered(
        "health.html.j2",
        filters,
        whole=whole,
        headline=headline(whole),
        nics=by_state(whole.nics),
        # Those with the newest event first.
        histories=sorted(whole.histories, key=lambda past: past.events[-1].at or "", reverse=True),
        checks=of_no_nic(whole),
        up_to=_UP_TO,
    )
