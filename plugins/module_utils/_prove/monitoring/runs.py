# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Alerts about what is to find faults: the exporter, health and verify, and about what the latter two have found.

Their metrics have no sentences, which would be another series at each change: the report has them.
"""

from __future__ import annotations

from typing import List, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.figures import OLDEST
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.drift import EXPORTER_REMEDY
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.monitoring import series, templates
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.monitoring.alert import Alert, line, of_check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.monitoring.series import on
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.monitoring.templates import label

_HEALTH, _VERIFY = "zerocopy_rdma_health", "zerocopy_rdma_verify"
_HEALTH_RUN = f"{_HEALTH}_run_timestamp_seconds"
# Seconds. Both run on timers, which the documentation has with these in mind.
_HEALTH_OLDEST, _VERIFY_OLDEST = 3600, 3 * 3600
_AGE = "{{ $value | humanizeDuration }}"


def exporter() -> List[Alert]:
    """A node that tells nothing, or less than it should."""
    # Also one that has no series any more: an exporter that has ended, or a target that gives no answer.
    known = f"topk by ({', '.join(series.TARGET)}) (1, last_over_time({series.NODE_INFO}[1d]))"
    nodes = f"({series.NODE_INFO} or {on(series.TARGET)} {known})"
    silent = series.of_hosts(f"time() - last_over_time({series.LAST_LOOK}[1d]) > {OLDEST:g}", nodes)
    return [
        of_check(
            "daemons",
            "warn",
            silent,
            f"the exporter has told nothing for {_AGE}: it does not run or hangs, its file cannot be written, or"
            " Prometheus does not reach it",
            EXPORTER_REMEDY,
            "the exporter has been silent for five minutes (the alert ends after a day of silence)",
            name="RdmaExporterSilent",
            mend="runtime",
        ),
        of_check(
            "daemons",
            "warn",
            series.of_hosts(f"{series.HUNG} == 1"),
            f"the exporter leaves out {label('step')}, since reading it hangs or fails",
            "See its log (journalctl --unit=zerocopy-rdma-exporter.service) and the kernel's.",
            "the exporter leaves something out because reading it hangs or fails",
            name="RdmaExporterIncomplete",
            lasts="5m",
        ),
    ]


def _of_run(
    name: str, verdict: str, expression: str, text: str, remedy: str, command: str, fires: str, lasts: str = ""
) -> Alert:
    return Alert(name, "", verdict, expression, text, remedy, command, fires, lasts)


def _outdated(name: str, what: str, metric: str, oldest: int, options: Sequence[str] = ()) -> Alert:
    hours = f"{oldest // 3600} h"
    return _of_run(
        name,
        "warn",
        f"absent({metric})\nor time() - {metric} > {oldest}",
        f"{what} has not completed for more than {hours}",
        f"See the log of rdma-{what}.service on the controller.",
        line(what, options),
        f"{what} has not completed for more than {hours}, or has never run",
        "10m",
    )


def health() -> List[Alert]:
    """What health has found, and that it does not look any more: rules stay then, although their NICs are well."""
    command = line("health")
    looked = f"{_HEALTH}_host_timestamp_seconds"
    return [
        _of_run(
            "RdmaNicSick",
            "warn",
            f'{_HEALTH}_sick{{exempt="false"}} == 1',
            f"{label('host')}: {label('device')} is sick ({label('check')})",
            "See health.html, which says what was found and since when.",
            command,
            "health finds a NIC sick that is not exempt",
        ),
        _of_run(
            "RdmaHealthOverBudget",
            "fail",
            f"{_HEALTH}_problems > 0",
            "more NICs are sick than may be kept from new pods",
            "See health.json for what was not tainted; mend NICs, or change rdma_health_budget or rdma_health_keep.",
            command,
            "more NICs are sick than `rdma_health_budget` and `rdma_health_keep` allow to keep from new pods",
        ),
        _outdated("RdmaHealthOutdated", "health", _HEALTH_RUN, _HEALTH_OLDEST),
        _of_run(
            "RdmaHostUnseen",
            "warn",
            f"({looked} == 0 or time() - {looked} > {_HEALTH_OLDEST})\n"
            f"and on () time() - {_HEALTH_RUN} < {_HEALTH_OLDEST}",
            f"{label('host')}: health has {templates.word({0: 'never looked at it'}, f'not looked at it for {_AGE}')}",
            "Find out why it cannot be reached; until then, its NICs keep their state and their rules.",
            line("health", ["--limit", templates.argument("host")]),
            "health runs, but has never looked at a host, or not for more than 1 h",
        ),
    ]


def verify() -> List[Alert]:
    """What verify has found, and that it does not run any more."""
    command = line("verify")
    about = "{{ with $labels.subject }} ({{ . }}){{ end }}"
    text = f'{{{{ or $labels.host "the cluster" }}}}: {label("check")}'
    remedy = "See the report of verify, which says what was found and how to mend it."
    found = f"{_VERIFY}_finding"
    return [
        _of_run(
            "RdmaCheckFailed",
            "fail",
            f'{found}{{verdict="fail"}} == 1',
            f"{text} failed{about}",
            remedy,
            command,
            "a check of verify has failed",
        ),
        _of_run(
            "RdmaCheckWarns",
            "warn",
            f'{found}{{verdict="warn"}} == 1',
            f"{text} warns{about}",
            remedy,
            command,
            "a check of verify warns for a day",
            "1d",
        ),
        _outdated("RdmaVerifyOutdated", "verify", f"{_VERIFY}_run_timestamp_seconds", _VERIFY_OLDEST),
    ]
