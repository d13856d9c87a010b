# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plan of one template on the nodes of its group: objects, what it matches, and what is wrong with it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import Any, Dict, FrozenSet, Iterator, List, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes import names as attribute_names
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import align as claims_align
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import fit as claims_text
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import intent, network, selectors
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import objects as claims_objects
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.fit import (
    FailedSelectorError,
    Fit,
    Hosts,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.layout import NumaError
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.model import ClaimIntent, Template
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.node import ClaimNode, verdict
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.scheduler import allocate, cel
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold, ranges
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, shown, wrong
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import joined

# What extended resources cannot do (KEP-5004, and dra.net's pkg/driver/nri_hooks.go).
_UNCHANGED = (
    "for pods that are not changed: whole NICs instead of shares, no alignment with GPUs, no configuration per pod,"
    " and none for pods with hostNetwork"
)


@dataclass
class Planned:
    """``names`` are the objects of a template, of which a pod uses one; ``align`` is how it is aligned and why.

    ``places`` are those of the NICs of an extended resource among the devices of a node, by ``ClaimNode.key``.
    ``invalid`` says that the template itself is wrong, whatever nodes publish; ``unseen``, that the objects which it
    has are to be kept, because NICs are not seen on which others would depend. ``unnamed`` is by host why its GPUs,
    which count as matching, cannot be handed out yet.
    """

    objects: List[Dict[str, Any]] = field(default_factory=list)
    names: List[str] = field(default_factory=list)
    align: str = ""
    lines: List[str] = field(default_factory=list)
    warnings: List[str] = field(default_factory=list)
    problems: List[Problem] = field(default_factory=list)
    places: Dict[str, FrozenSet[int]] = field(default_factory=dict)
    invalid: bool = False
    unseen: bool = False
    unnamed: Dict[str, Problem] = field(default_factory=dict)


def alternatives_at(template: Template, kind: str) -> List[Tuple[str, Any]]:
    """Where each alternative of a kind (``gpu``, ``nic``) stands, and the alternative."""
    picks = getattr(template, kind)
    if len(picks) == 1:
        return [(f"{template.at}.{kind}", picks[0])]
    return [(f"{template.at}.{kind}.first_available[{place}]", pick) for place, pick in enumerate(picks)]


def _own_selectors(template: Template) -> Iterator[Tuple[str, str]]:
    for kind in ("gpu", "nic"):
        for at, pick in alternatives_at(template, kind):
            for place, text in enumerate(pick.selectors):
                yield f"{at}.selectors[{place}]", text


class _TemplatePlanner:
    """One template, its nodes (one of each kind), and the names of all hosts of a kind by ``ClaimNode.key``."""

    def __init__(self, template: Template, wanted: ClaimIntent, nodes: Sequence[ClaimNode], hosts: Hosts) -> None:
        self.template, self.wanted, self.nodes, self.hosts = template, wanted, nodes, hosts
        self.result = Planned()
        self.unknown: Dict[str, str] = {}
        published = {gpu.driver for node in nodes for gpu in node.gpus}
        # A class of the site's own can be that of any driver.
        named = wanted.gpu_class if wanted.gpu_class in model.GPU_MAKERS else None
        self.gpu_driver = named or (published.pop() if len(published) == 1 else model.GPU_DRIVER)

    def _problem(self, problem: Problem) -> None:
        self.result.problems.append(problem)

    def _check_selectors(self) -> None:
        for at, text in _own_selectors(self.template):
            try:
                cel.check(text)
            except cel.SelectorError as error:
                self._problem(wrong(at, text, f"which is not a CEL expression that the API accepts: {error}"))
            except cel.NotEvaluatedError as error:
                self.unknown[text] = at
                why = f"{at} is {shown(text)}, which cannot be evaluated here ({error})"
                self.result.warnings.append(f"{why}: it is unknown whether it matches anything")

    def _check_gpu_class(self) -> None:
        """A class of one maker where every GPU is of another can never be satisfied."""
        others = {gpu.driver for node in self.nodes for gpu in node.gpus}
        if not self.template.gpus or not others or self.gpu_driver in others:
            return
        there = ", ".join(sorted(others))
        names = fold(name for node in self.nodes if node.gpus for name in self.hosts[node.key])
        right = f"but the GPUs of {names} are of class {there}: set it to their class, such as {there}"
        self._problem(wrong(intent.GPU_CLASS, self.wanted.gpu_class, right))

    def _gpu_expressions(self) -> List[List[str]]:
        found = []
        for at, pick in alternatives_at(self.template, "gpu"):
            expressions, against = selectors.of_gpus(pick, self.nodes, self.gpu_driver)
            if against is not None:
                self._problem(wrong(f"{at}.product", pick.product, against))
            if not expressions and self.template.gpus:
                text = "no node reports the product of its GPUs, so a pod may get one of another group"
                self.result.warnings.append(f"{self.template.name}: {text}")
            found.append(expressions)
        return found

    def _nic_expressions(self) -> List[List[str]]:
        found = []
        for at, pick in alternatives_at(self.template, "nic"):
            if self.template.nics == 0:
                found.append(list(pick.selectors))
                continue
            selection = selectors.of_nics(pick, self.nodes, self.hosts)
            for text in selection.problems:
                self._problem(Problem(at, f"cannot be satisfied: {text}"))
            self.result.warnings += [f"{self.template.name}: {text}" for text in selection.warnings]
            found.append(selection.expressions)
        return found

    def _check_rails(self) -> None:
        """A rail that no node has is a mistake, unless a NIC may be away."""
        rails = {device.attributes.get(attribute_names.RAIL) for node in self.nodes for device in node.nics}
        known = sorted(rail for rail in rails if isinstance(rail, int))
        if any(node.may_hide_nics for node in self.nodes):
            return
        there = (
            f"their NICs are in rails {ranges(list(map(str, known)))}"
            if known
            else "none of their NICs is in a rail (rdma_links_*)"
        )
        for place, rail in enumerate(self.template.rails):
            if rail not in known:
                nodes = fold(name for node in self.nodes for name in self.hosts[node.key])
                self._problem(wrong(f"{self.template.at}.rails[{place}]", rail, f"which {nodes} do not have: {there}"))

    def _check_network(self) -> None:
        for node in self.nodes:
            nics = [nic for nic in node.nics if any(verdict(node, nic, pick).wanted for pick in self.template.nic)]
            for problem in network.of_nics(self.template.at, self.template.parameters, node, nics):
                if problem not in self.result.problems:
                    self._problem(problem)

    def _failed(self, error: FailedSelectorError) -> None:
        at = {text: where for where, text in _own_selectors(self.template)}.get(error.expression)
        where = f"{error.device.name} of {fold(self.hosts[error.node.key])}"
        self.result.invalid = True
        if at is None:
            lacking = joined(selectors.lacking(error.expression, error.device)) or "what its driver should publish"
            remedy = f"check the log of {error.device.driver} on that node, and whether the driver is up to date"
            text = f"({self.template.name}) cannot be satisfied: {where} does not publish {lacking} ({error}): {remedy}"
            self._problem(Problem(self.template.at, text))
            return
        guard = 'first test whether it exists ("ifName" in device.attributes["dra.net"] && ...)'
        self._problem(wrong(at, error.expression, f"which fails on {where} ({error}): {guard}"))

    @staticmethod
    def _fits(fit: Fit, node: ClaimNode, choice: claims_align.Choice) -> bool:
        return any(fit.fits(node, layout) for layout in choice.layouts)

    def _fits_somewhere(self, fit: Fit, choice: claims_align.Choice) -> bool:
        return any(self._fits(fit, node, choice) for node in self.nodes)

    def _choice(self, fit: Fit, linked: Fit) -> claims_align.Choice:
        """The choice that does not depend on current links, unless with these only another choice fits on any node.

        It never depends on taints, which go with a reset of the GPU or a restart of its driver.
        """
        fit = fit.whatever_the_taints()
        lasting = claims_align.choose(linked, self.nodes, self.hosts)
        if self._fits_somewhere(fit, lasting):
            return lasting
        now = claims_align.choose(fit, self.nodes, self.hosts)
        return now if self._fits_somewhere(fit, now) else lasting

    def _check_fit(self, fit: Fit, linked: Fit, choice: claims_align.Choice) -> None:
        misfits = []
        for node in self.nodes:
            if not self._fits(fit, node, choice):
                misfits.append((node, fit.why_not(node, choice.layouts[0])))
        if not misfits:
            return
        text = claims_text.misfits(misfits, self.hosts)
        if len(misfits) < len(self.nodes):
            self.result.warnings.append(f"{self.template.name} does not fit everywhere. {text}")
        elif self._fits_somewhere(fit.whatever_the_taints(), choice):
            why = f"cannot be satisfied on any node while devices are tainted. {text}"
            self.result.warnings.append(f"{self.template.name} {why}")
        elif self._fits_somewhere(linked, choice):
            why = f"cannot be satisfied on any node while NICs have no link. {text}"
            self.result.warnings.append(f"{self.template.name} {why}")
        elif any(node.may_hide_nics for node, _why in misfits) and self.template.nics != 0:
            why = "In RDMA netns mode exclusive, and with Soft-RoCE, NICs in pods are not visible, so this may be wrong"
            kept = ", and its objects stay as they are" if choice.unseen else ""
            self.result.warnings.append(f"{self.template.name} cannot be satisfied on any node. {text}. {why}{kept}")
        else:
            self._problem(Problem(self.template.at, f"({self.template.name}) cannot be satisfied on any node. {text}"))

    def _of_resource(self, fit: Fit, linked: Fit) -> None:
        name = intent.class_of(self.wanted.nic_class, self.template.resource)
        made = claims_objects.resource_class(name, self.template.resource, fit.nic[0], self.template.parameters)
        beyond = claims_objects.beyond_limits(made["spec"])
        if beyond is not None:
            self._problem(Problem(self.template.at, f"({self.template.name}) {beyond}"))
        self.result.names, self.result.objects, self.result.align = [name], [made], _UNCHANGED
        self.result.places = {node.key: linked.nics(node) for node in self.nodes}

    def _objects(self, fit: Fit, choice: claims_align.Choice) -> None:
        single = len(choice.layouts) == 1 and choice.align != "unaligned"
        for layout in choice.layouts:
            # One variant keeps the template's own name, so that pods need not care why.
            name = self.template.name + ("" if single else layout.suffix)
            spec = claims_objects.claim_spec(layout, self.wanted, fit.gpu, fit.nic, self.template.parameters)
            beyond = claims_objects.beyond_limits(spec)
            if beyond is not None:
                self._problem(Problem(self.template.at, f"({self.template.name}) {beyond}"))
            self.result.names.append(name)
            self.result.objects += claims_objects.templates(name, self.wanted.namespaces, spec)

    def _lines(self, fit: Fit, choice: claims_align.Choice) -> None:
        self.result.align = f"align={choice.align}: {choice.why}"
        lines = []
        if self.template.gpus:
            lines.append(f"  gpu {claims_text.counts(fit, self.nodes, self.hosts, True)}")
        if self.template.nics != 0:
            lines.append(f"  nic {claims_text.counts(fit, self.nodes, self.hosts, False)}")
        self.result.lines = lines

    def _elsewhere(self, fit: Fit, choice: claims_align.Choice, others: Sequence[ClaimNode], hosts: Hosts) -> None:
        """Nodes of other groups that a pod may end up on."""
        found: List[str] = []
        for node in others:
            # A selector that fails there keeps pods away just as well, and so do GPUs that nobody publishes.
            with contextlib.suppress(FailedSelectorError):
                if self._fits(fit, node, choice) and not fit.assumes(node):
                    found += hosts[node.key]
        if found:
            self.result.lines.append(f"  also fits on {fold(found)} of other groups: pods need a nodeSelector")

    def _unnamed(self, fit: Fit) -> None:
        why = f"{self.gpu_driver} does not publish them, so their product is not known"
        text = f"({self.template.name}) cannot use the node's GPUs yet: {why} (is their kernel driver loaded?)"
        names = [name for node in self.nodes if fit.assumes(node) for name in self.hosts[node.key]]
        self.result.unnamed = dict.fromkeys(names, Problem(self.template.at, text))

    def run(self, others: Sequence[ClaimNode], hosts_of_others: Hosts) -> Planned:
        self._check_selectors()
        self._check_gpu_class()
        self._check_rails()
        if self.result.problems:
            return self.result
        gpu, nic = self._gpu_expressions(), self._nic_expressions()
        self._check_network()
        if self.result.problems:
            return self.result
        fit = Fit(self.template, gpu, nic, frozenset(self.unknown), gpu_driver=self.gpu_driver)
        linked = fit.whatever_the_links()
        try:
            choice = self._choice(fit, linked)
            self._lines(fit, choice)
            self._check_fit(fit, linked, choice)
            self._unnamed(fit)
            self._elsewhere(fit.whatever_the_taints(), choice, others, hosts_of_others)
            if self.template.resource:
                self._of_resource(fit, linked)
            elif choice.unseen:
                self.result.unseen, self.result.names = True, [self.template.name]
            else:
                self._objects(fit, choice)
        except FailedSelectorError as error:
            self._failed(error)
        except NumaError as error:
            self._problem(wrong(f"{self.template.at}.align", self.template.align, f"but {error}"))
        except allocate.TooManyStepsError:
            self._problem(Problem(self.template.at, "has too many possible allocations to check: request less"))
        return self.result


def plan(
    template: Template,
    wanted: ClaimIntent,
    nodes: Sequence[ClaimNode],
    hosts: Hosts,
    others: Sequence[ClaimNode] = (),
    hosts_of_others: Optional[Hosts] = None,
) -> Planned:
    """Plans one template. ``nodes`` has one node of each kind, ``hosts`` all their names by ``ClaimNode.key``.

    ``others`` and ``hosts_of_others`` are the same for nodes that do not have the template.
    """
    return _TemplatePlanner(template, wanted, nodes, hosts).run(others, hosts_of_others or {})
