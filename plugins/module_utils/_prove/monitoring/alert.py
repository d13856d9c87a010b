# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What an alert has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.remedies import WAYS, worded
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import VerifyRun
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.evidence import RING
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.monitoring import templates
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report import commands

SEVERITIES: Mapping[str, str] = {"fail": "critical", "warn": "warning"}
# As the documentation has it, since no metric says what the inventory of the controller is.
_RUN = VerifyRun(inventory=["inventory"])


@dataclass(frozen=True)
class Alert:
    """A rule that fires; several may have one name.

    ``check`` is the id of the check that says the same, empty where none does, and ``labels`` are its others. ``lasts``
    is for how long the expression has to hold. ``text`` and ``command`` may have templates. ``fires`` says for people
    when it does; ``among`` is what differs between those of one name that otherwise fire alike.
    """

    name: str
    check: str
    verdict: str
    expression: str
    text: str
    remedy: str
    command: str
    fires: str
    lasts: str = ""
    among: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def severity(self) -> str:
        """How bad it is, in the words that alerts of others have."""
        return SEVERITIES[self.verdict]


@dataclass(frozen=True)
class AlertGroup:
    """Alerts that are evaluated together."""

    name: str
    alerts: Sequence[Alert]


def name_of(what: str) -> str:
    """The name of the alert for a check of hosts."""
    return "Rdma" + "".join(part.capitalize() for part in what.split("_"))


def line(playbook: str, options: Sequence[str] = (), variables: Optional[Mapping[str, str]] = None) -> str:
    """The line for the shell, as the report writes one."""
    return commands.line(f"zerocopy.rdma.{playbook}", _RUN, options, variables)


def of_check(
    what: str,
    verdict: str,
    expression: str,
    text: str,
    remedy: str,
    fires: str,
    *,
    name: str = "",
    mend: str = "",
    lasts: str = "2m",
    among: str = "",
    **labels: str,
) -> Alert:
    """The alert that says what the host's check ``what`` says.

    Its command mends it where a run of ``site`` does (``mend``), and otherwise shows whether it is still so.
    """
    limit = ["--limit", templates.argument("host")]
    if mend:
        command = line("site", ["--tags", WAYS[mend].tags, *limit], WAYS[mend].variables)
    else:
        command = line("verify", ["--tags", RING, *limit])
    return Alert(
        name or name_of(what),
        f"{RING}.{what}",
        verdict,
        expression,
        f"{templates.label('host')}: {text}",
        worded(mend, remedy),
        command,
        fires,
        lasts,
        among,
        labels,
    )
