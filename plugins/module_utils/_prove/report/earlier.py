# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What is new since an earlier run: findings by check, host and subject."""

from __future__ import annotations

import json
from typing import Dict, List, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import verify as documents
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import (
    Check,
    EarlierRun,
    PastFinding,
    VerifyDocument,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.causes import BAD
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import state_version

Key = Tuple[str, Optional[str], str]


def key(check: Check) -> Key:
    return (check.id, check.host, check.subject)


def _bad(checks: List[Check], of: VerifyDocument) -> Dict[Key, Check]:
    """Findings about what was looked at in the other run as well: its rings, and its hosts."""
    rings = {check.ring for check in of.checks}
    return {
        key(check): check
        for check in checks
        if check.verdict in BAD and check.ring in rings and (check.host is None or check.host in of.hosts)
    }


def _past(check: Check) -> PastFinding:
    return PastFinding(check.id, check.host, check.subject, check.text)


def read(text: str) -> Optional[VerifyDocument]:
    """The document of an earlier run without the facts of its hosts; None for what is none, or of a newer version."""
    try:
        value = json.loads(text)
        state_version.known(value["version"], documents.VERSION)
        hosts = {str(name): documents.DocumentHost("") for name in dict(value["hosts"])}
        checks = [documents.check(each) for each in value["checks"]]
        return VerifyDocument(str(value["created"] or "") or None, str(value["collection"]), hosts, checks)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def compare(earlier: VerifyDocument, now: VerifyDocument) -> EarlierRun:
    """What is new and what is gone, in the order of the documents."""
    was, has = _bad(earlier.checks, now), _bad(now.checks, earlier)
    return EarlierRun(
        created=earlier.created,
        new=[_past(check) for name, check in has.items() if name not in was],
        gone=[_past(check) for name, check in was.items() if name not in has],
        unchanged=len(has.keys() & was.keys()),
    )
