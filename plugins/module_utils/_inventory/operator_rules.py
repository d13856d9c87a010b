# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Rules for the variables of operators that are installed with Helm, beyond their types."""

from __future__ import annotations

import os
import re
import tarfile
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._values import names as values_names
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem, wrong

PREFIX = "rdma_operator_"
# The key in the values of a release that says that this collection installed it.
OWNER = "zerocopyRdma"
# A single version (semver.org, 2.0.0). Helm would also accept a range of versions.
_VERSION = re.compile(r"v?[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?")
_URL = re.compile(r"https?://[^\s/]+\S*")
_LARGEST = 1 << 20


@dataclass(frozen=True)
class OperatorVariables:
    """Names of the variables of one operator."""

    deploy: str

    @property
    def version(self) -> str:
        return f"{self.deploy}_version"

    @property
    def chart(self) -> str:
        return f"{self.deploy}_chart"

    @property
    def repository(self) -> str:
        return f"{self.deploy}_repository"

    @property
    def namespace(self) -> str:
        return f"{self.deploy}_namespace"

    @property
    def values(self) -> str:
        return f"{self.deploy}_values"


def operators(known: Iterable[str]) -> List[OperatorVariables]:
    """Those that the role can install, by the names of its variables: each has a chart."""
    every = set(known)
    found = [OperatorVariables(name) for name in known if name.startswith(PREFIX)]
    return [names for names in found if names.chart in every]


def is_local(chart: str) -> bool:
    """Whether a chart is a path, rather than a name in a repository or a reference with a scheme."""
    return chart.startswith(("/", "~"))


def about(path: str) -> Dict[str, Any]:
    """The content of ``Chart.yaml`` of a chart in an archive or a directory.

    :raises OSError, tarfile.TarError, ValueError: ``path`` cannot be read, or is not a chart.
    """
    import yaml

    if os.path.isdir(path):
        with open(os.path.join(path, "Chart.yaml"), "rb") as file:
            text = file.read(_LARGEST)
    else:
        with tarfile.open(path) as archive:
            # In an archive, the chart is a single directory; the charts that it depends on are deeper.
            name = next((name for name in archive.getnames() if re.fullmatch(r"(\./)?[^/]+/Chart\.yaml", name)), None)
            content = archive.extractfile(name) if name else None
            if content is None:
                raise ValueError("it has no Chart.yaml")
            text = content.read(_LARGEST)
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError("its Chart.yaml is not valid YAML") from error
    if not isinstance(found, dict):
        raise ValueError("its Chart.yaml is not a dictionary")
    return found


def _chart(names: OperatorVariables, values: Mapping[str, Any]) -> None:
    """:raises PlanError: the chart does not exist, or has another version than the variables say."""
    chart, version = str(values[names.chart]), str(values[names.version])
    if not is_local(chart):
        if chart.endswith(".tgz") or chart.startswith("."):
            raise PlanError(wrong(names.chart, chart, "the path of an archive must be absolute"))
        if "://" not in chart and not values[names.repository]:
            right = f"it must be an archive, a reference such as oci://..., or a name in {names.repository}"
            raise PlanError(wrong(names.chart, chart, right))
        return
    path = os.path.expanduser(chart)
    try:
        found = str(about(path).get("version"))
    except (OSError, tarfile.TarError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise PlanError(wrong(names.chart, chart, f"which is not a chart: {why}")) from error
    if found.lstrip("v") != version.lstrip("v"):
        right = f"but the chart {chart} has version {found}: they must be the same"
        raise PlanError(
            wrong(names.version, version, right) if version else Problem(names.version, f"is not set, {right}")
        )


def _of_operator(names: OperatorVariables, values: Mapping[str, Any]) -> Iterator[Problem]:
    version, url, own = values[names.version], values[names.repository], values[names.values]
    if not version and not is_local(str(values[names.chart])):
        yield Problem(names.version, f"is not set, but {names.deploy} is true: set the version of the chart")
    elif version and not _VERSION.fullmatch(version):
        yield wrong(names.version, version, "it must be one version, like 25.10.0")
    else:
        try:
            _chart(names, values)
        except PlanError as error:
            yield error.problem
    if url and not _URL.fullmatch(url):
        yield wrong(names.repository, url, "it must be a URL with https://; give a chart in a registry as oci://...")
    if not values_names.is_label(values[names.namespace]):
        yield wrong(names.namespace, values[names.namespace], "it must be the name of a namespace")
    if OWNER in own:
        yield wrong(f"{names.values}.{OWNER}", own[OWNER], "this collection sets it: leave it out")


def problems(
    hosts: Sequence[Tuple[str, Mapping[str, Any]]], defaults: Mapping[str, Any]
) -> Iterator[Tuple[str, Problem]]:
    """The problems, each with its host. ``hosts`` are names with converted variables; ``defaults`` are for unset ones.

    Hosts must not differ in these variables, which is checked elsewhere, so those of the first host are checked here.
    """
    for names in operators(defaults):
        asking = [host for host, values in hosts if values.get(names.deploy)]
        first: Optional[Mapping[str, Any]] = next((values for _host, values in hosts if values.get(names.deploy)), None)
        for problem in _of_operator(names, {**defaults, **first}) if first is not None else ():
            yield from ((host, problem) for host in asking)
