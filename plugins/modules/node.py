#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: node
short_description: Compare a node with its part of the plan, or bring one part of the node into line with it
version_added: 1.0.0
description:
  - A node has the parts C(packages), C(kernel), C(links), C(runtime) (container runtime), C(daemons) (programs of
    this collection) and C(images). With O(compare), all of them are compared in one call, and nothing is
    changed. Otherwise one part is changed, by the same code.
  - The desired state of a part is read from the O(plan) of the run, which M(zerocopy.rdma.plan) has made from variables
    and facts. Without O(plan) and without options of a part, this task plans its host alone, from the same variables
    and facts. The roles C(zerocopy.rdma.rdma_kernel), C(zerocopy.rdma.rdma_links),
    C(zerocopy.rdma.rdma_runtime), C(zerocopy.rdma.rdma_inject) and C(zerocopy.rdma.rdma_exporter) document the
    variables.
  - A part owns only what is in its ledger (below C(/var/lib/zerocopy-rdma) on the node), which keeps the originals so
    that O(state=absent) can restore them. Files of others are not replaced, and those that are changed keep owner,
    mode, access control list and other attributes. Lines that somebody appended to files of the kernel, of sysctl or of
    udev stay, and so do rights that were taken away. A run that was killed is completed by the next one. A node that
    boots a fresh image every time loses its ledgers; prepare its image with another root directory instead
    (C(rdma_discover_root)), where files are read and written but nothing is run.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.state_module
attributes:
  diff_mode:
    support: full
    details:
      - With O(compare) and C(--diff), each part has its own C(diff), so that identical diffs of many nodes can be shown
        once. Credentials in the configuration of a container runtime are redacted.
options:
  plan:
    description:
      - Directory with the plan of the run (RV(zerocopy.rdma.plan#module:directory)). Each host has its own file in it.
      - Ignored if options of a part are given.
    type: path
  parts:
    description:
      - Which parts are compared, by default all of them. Without O(compare) it must name one.
      - A part that the host's plan lacks is left out, such as the container runtime with C(rdma_runtime_flavour=none).
        If no part is left, the task is skipped.
    type: list
    elements: str
    choices: [packages, kernel, links, runtime, daemons, images]
  compare:
    description:
      - Whether to compare the parts and change nothing. If a part cannot be compared, its C(error) says why, and the
        others are still compared. A fleet without differences thus needs two module calls per node, this one and
        M(zerocopy.rdma.rdma_facts).
    type: bool
    default: false
  state:
    description:
      - V(absent) restores what was changed before. Running pods keep what they have.
      - The originals of files are restored. Modules that were loaded are unloaded, unless they are in use. The NRI
        plugin is removed, and so are the images that were imported, unless they have been replaced or given other
        names. Packages stay.
      - Ports come down, and what was active on them is activated again, unless somebody else uses them by now. What a
        port had that is in a pod at the moment comes back with a run after the pod, and a warning says so until then.
      - The container runtime is restarted if its effective configuration changes. If it is gone, was replaced or is
        broken, or with C(rdma_runtime_flavour=none), its files are restored without it, and a warning says so.
    type: str
    choices: [present, absent]
    default: present
  packages:
    description:
      - Packages that should be installed, by their names in the distribution. A name may include a version as in C(apt)
        or C(rpm). A package that is installed under another name counts as missing.
      - Packages are only compared.
    type: list
    elements: str
  kernel:
    description:
      - Kernel modules that are loaded now and at boot (C(modules)), options of modules (C(options)), modules that must
        not be loaded for matching hardware (C(blacklist)), the RDMA network namespace mode (C(netns_mode)) and how much
        memory users may lock (C(user_memlock)), in files named after C(name).
      - Everything is validated before the first change. A module that does not exist for the running kernel is an
        error; the message names the package that contains it, if known. Modules built into the kernel are accepted.
      - If an option differs from the value in the running kernel, the node needs a reboot. That is reported once
        (RV(reboot_required)); nothing is ever rebooted. If the value is still not in effect after a reboot,
        RV(not_effective) gives the reason instead, so that nothing reboots a node repeatedly.
      - The RDMA network namespace mode is also changed in the running kernel if no other network namespace exists, a
        condition set by the kernel.
    type: dict
  links:
    description:
      - All links of the node as C(links), and as C(unmanaged) the ports that NetworkManager must not manage, as the
        filter P(zerocopy.rdma.links#filter) plans them, and as C(qos) the ports with the quality of service of RoCE. A
        profile that an earlier call wrote for a link that is no longer listed is removed, and what was active on its
        port before is activated again.
      - Profiles match the MAC address (for IPoIB, the port GUID), so NetworkManager gives a port that comes back from a
        pod its address and MTU again, without Ansible. For a port that is in a pod at the moment, only its profile is
        written, see RV(in_pod).
      - Changes are made inside a NetworkManager checkpoint. If a link does not come up, all changes are rolled back at
        once and the module fails with NetworkManager's reason. If all links come up, the controller confirms the change
        over a new connection, in the same task; without that, NetworkManager rolls back by itself after
        C(rollback_seconds) (60). With C(confirm=manual), RV(checkpoint) is returned instead; a later call with this
        value as C(confirm) confirms the change. A rollback also removes profiles that others have added in the
        meantime.
      - Rejects ports that carry the default route, one of its next hops, or this Ansible connection (also below a bond,
        VLAN or bridge). Also rejects bonds, members of bonds and bridges, ports that are configured by
        systemd-networkd, ifupdown or by hand, and networks that contain the controller or the default gateway.
      - The quality of service of RoCE is set with C(dcb) of iproute2 and in configfs, now, at boot, and when a netdev
        comes back from a pod. The settings that a port had before are restored when it is no longer listed, unless
        somebody has changed them since. Where a driver offers no Data Center Bridging, only RDMA-CM's type of service
        is set, with a warning.
      - NetworkManager's address conflict detection (RFC 5227) rejects an address that another station uses, now and at
        every boot. It does not work on IPoIB.
    type: dict
  runtime:
    description:
      - NRI (node resource interface) with its timeouts (C(request_timeout), C(registration_timeout)) and default
        C(validator), CDI (container device interface) and the limit of locked memory (C(memlock),
        C(memlock_handlers)) of the container runtime C(runtime). Supports containerd 1.7 and 2.x (configuration
        versions 2, 3 and 4), k3s, RKE2 and CRI-O.
      - Timeouts are minimums. Longer ones in the runtime's configuration are kept.
      - Only settings that are not in effect yet are written, to a drop-in file of this collection or, if the runtime
        reads no such files, between marked lines of its own file. Everything that users wrote is kept. The files are
        those that the running daemon uses.
      - The new configuration is checked with the installed containerd (C(containerd config dump)) before it is written.
        Apart from these settings, it must be equivalent to the present one. Otherwise, or if the present configuration
        is broken, nothing is changed and the runtime keeps running.
      - For k3s and RKE2, the template is read from which the next start makes the configuration. A template with
        neither the base template nor C(root) and C(state) is rejected, because the node would lose its containers
        (rke2#10293).
      - The runtime is restarted only with C(restart), and only if its effective configuration changes or an earlier run
        was interrupted before the restart. Running containers are not affected. After the restart the CRI
        must answer and the NRI socket must accept connections; otherwise the files are restored, the runtime is
        restarted again and the module fails with the reason.
      - Sandbox records left behind by failed NRI attaches (containerd issue 13609, fixed in 2.2.6, 2.3.3 and 2.4.0) can
        prevent containerd from starting. The module warns about them, and with C(recover_sandboxes) removes them. A
        containerd that does not start any more is started once without its CRI for this, otherwise exactly as its unit
        says; where C(ExecStart) is a script or has variables, that is refused.
    type: dict
  daemons:
    description:
      - Daemons, a dictionary of names and options. A daemon whose C(state) is V(absent) is removed.
      - The daemon C(inject) is the NRI plugin that gives containers the RDMA devices next to their GPUs. It is one file
        (C(/usr/local/libexec/zerocopy-rdma/inject.pyz)), which is built on the controller from files of this collection
        and needs only Python on the node. It runs as the systemd unit C(zerocopy-rdma-inject.service).
      - The plugin is restarted only if it does not run, or if its program, its unit, C(socket) or C(metrics) changed.
        It reads all other changes of its configuration (C(/etc/zerocopy-rdma/inject.json)) without a restart, which
        would not affect running containers.
      - After a start, the plugin must be registered with the runtime within C(await_seconds). Otherwise the module
        fails with the reason. If nothing listens at C(socket), the module warns instead of failing, because the plugin
        registers as soon as NRI is enabled.
      - The daemon C(exporter) writes metrics of RDMA ports, and of the pods that hold them, either to the C(directory)
        of node_exporter's textfile collector or for those who C(listen). It is one file as well
        (C(/usr/local/libexec/zerocopy-rdma/exporter.pyz)), runs as the unit C(zerocopy-rdma-exporter.service), and is
        restarted if its program, its unit or its configuration (C(/etc/zerocopy-rdma/exporter.json)) changed. The role
        C(zerocopy.rdma.rdma_exporter) describes it.
      - The daemon C(attributes) answers DRANET's provider webhook with the rail, leaf, rate and link layer of NICs. It
        is one file as well (C(/usr/local/libexec/zerocopy-rdma/attributes.pyz)), runs as the unit
        C(zerocopy-rdma-attributes.service), and is restarted if its program or its unit changed. It reads its
        configuration (C(/etc/zerocopy-rdma/attributes.json)) again by itself.
      - The daemon C(lldpd) is that of the distribution. It listens on C(netdevs), also while they are in pods, and
        sends nothing (C(/etc/lldpd.d/zerocopy-rdma.conf)). One that somebody else has configured, or that runs without
        this configuration, is left as it is, with a warning. Packages are not installed by this module; with
        V(absent), the package stays, and the daemon is stopped and disabled.
    type: dict
  images:
    description:
      - Images that come from archives on the controller, each with its C(name), its C(archive) and the C(runtime). An
        archive is sent only to nodes that lack its image. M(zerocopy.rdma.container_image) describes these options.
    type: list
    elements: dict
seealso:
  - module: zerocopy.rdma.plan
  - module: zerocopy.rdma.container_image
  - name: RDMA system configuration
    description: The netns mode of the RDMA subsystem.
    link: https://man7.org/linux/man-pages/man8/rdma-system.8.html
  - name: NRI
    description: The interface between container runtimes and their plugins.
    link: https://github.com/containerd/nri
  - name: NRI in containerd
    description: Options and defaults of NRI in containerd.
    link: https://github.com/containerd/containerd/blob/main/docs/NRI.md
"""

EXAMPLES = r"""
- name: Compare the node with what its variables and facts say
  zerocopy.rdma.node:
    compare: true
  register: drift

- name: Show the parts that differ
  ansible.builtin.debug:
    msg: "{{ drift.concerns | dict2items | selectattr('value.changed') | map(attribute='key') }}"
  when: drift.differs

- name: Configure its links
  zerocopy.rdma.node:
    parts: [links]

- name: Load kernel modules, whatever the variables say
  zerocopy.rdma.node:
    kernel:
      modules: [rdma_cm, rdma_ucm, ib_uverbs, ib_umad]
      netns_mode: exclusive
  register: kernel

- name: Show why a reboot is needed
  ansible.builtin.debug:
    var: kernel.reboot_reasons
  when: kernel.reboot_required

- name: Restore the original configuration of the container runtime
  zerocopy.rdma.node:
    parts: [runtime]
    state: absent
"""

RETURN = r"""
differs:
  description: Whether any part differs or could not be compared.
  returned: with O(compare)
  type: bool
concerns:
  description:
    - Result of each part. It contains everything that a change of the part returns in check mode, and at least the
      following keys.
  returned: with O(compare)
  type: dict
  contains:
    changed:
      description: Whether anything would be changed.
      type: bool
    changes:
      description: What would be changed, as RV(changes).
      type: list
      elements: dict
    unknown:
      description:
        - Whether the packages cannot be compared, as on a node with neither dpkg nor rpm. They then count as equal.
      returned: for packages
      type: bool
    unfinished:
      description:
        - Whether an earlier run was interrupted and has to be completed, although nothing differs. For example, a run
          was killed before it confirmed its links to NetworkManager, which will roll them back.
      type: bool
    diff:
      description: The changed files with their text before and after.
      returned: with C(--diff)
      type: list
      elements: dict
    warnings:
      description: What needs attention.
      type: list
      elements: str
    reboot_reasons:
      description: What takes effect only after a reboot of the node.
      type: list
      elements: str
    error:
      description: Why the part could not be compared, V(null) if it was.
      type: str
    exception:
      description: Traceback of the error, if it is a bug of this collection.
      returned: after an unexpected error
      type: str
  sample:
    links:
      changed: true
      changes: [{kind: connection, name: rdma-rail0, before: absent, after: connected as configured}]
      unfinished: false
      warnings: []
      reboot_reasons: []
      error: null
changes:
  description:
    - What changed or, in check mode, would change, in this order. C(kind) is V(file), V(module), V(rdma_netns_mode),
      V(initramfs), V(sysctl), V(rule), V(connection), V(netdev) (a VLAN or partition that outlived its connection),
      V(mtu), V(vfs) (number of VFs), V(vf_guid) (GUID of a VF, which is created anew), V(device) (whether
      NetworkManager manages it), V(service), V(unit), V(sandbox_record), V(image) or V(package).
  returned: without O(compare)
  type: list
  elements: dict
  sample:
    - {kind: file, name: /etc/modules-load.d/zerocopy-rdma.conf, before: absent, after: present}
    - {kind: module, name: rdma_cm, before: unloaded, after: loaded}
reboot_required:
  description: Whether the node needs a reboot.
  returned: for C(kernel)
  type: bool
reboot_reasons:
  description: Why the node needs a reboot, one message for each option or module.
  returned: for C(kernel)
  type: list
  elements: str
  sample: ["ib_core.netns_mode is Y, 0 takes effect at the next boot: other network namespaces exist (/run/netns/blue)"]
not_effective:
  description: Options that another reboot would not put into effect, and why. Each is also a warning.
  returned: for C(kernel)
  type: dict
  sample: {ib_core.netns_mode: "it is 1: /proc/cmdline sets 1, which takes precedence"}
initramfs_outdated:
  description: Whether an initramfs loads a module with outdated options.
  returned: for C(kernel)
  type: bool
netns_mode:
  description: RDMA network namespace mode of the running kernel. V(null) if ib_core is not loaded, or for an image.
  returned: for C(kernel)
  type: str
  sample: shared
modules:
  description:
    - State of each wanted kernel module after the run (in check mode, the predicted state). V(loaded), V(builtin), or
      for an image V(available) or V(unknown).
  returned: for C(kernel)
  type: dict
  sample: {rdma_cm: {state: loaded}, ib_uverbs: {state: builtin}}
links:
  description:
    - The links, each with its C(name), C(netdev) and C(mac) (V(null) if unknown), C(type), C(connections) (names of
      its profiles), C(addresses) (C(netdev), C(address), C(mtu) and the profile's C(uuid) of each) and C(state). That
      is V(up), V(no_carrier) (the link comes up when a cable is plugged in), V(in_pod), or V(written) (for an image).
      In check mode, the predicted state.
  returned: for C(links)
  type: list
  elements: dict
in_pod:
  description:
    - Names of the links whose netdev is not on the host, because it is in a pod or its driver is not loaded. Their
      profiles are written, unless the MAC address is unknown.
  returned: for C(links)
  type: list
  elements: str
checkpoint:
  description: The open NetworkManager checkpoint, to be confirmed.
  returned: for C(links), if there are changes that can be rolled back, and they are to be confirmed later
  type: str
  sample: /org/freedesktop/NetworkManager/Checkpoint/1
runtime:
  description:
    - For C(runtime), the runtime that was configured. For C(daemons), name and version that it sent to the daemon.
  returned: for C(runtime), C(daemons)
  type: raw
  sample: containerd
nri:
  description:
    - NRI settings in effect after the changes, as C(enabled), C(socket), C(request_timeout), C(registration_timeout)
      and C(validator).
  returned: for C(runtime)
  type: dict
  sample:
    enabled: true
    socket: /var/run/nri/nri.sock
    request_timeout: 30s
    registration_timeout: 30s
    validator: false
handlers:
  description: Runtime handlers with a raised limit in their base specification.
  returned: for C(runtime), with a limit
  type: list
  elements: str
  sample: [runc]
running_pods_keep_old_limit:
  description:
    - Number of running pods (CRI-O, containers) that were started with a lower limit, and keep it until restarted.
  returned: for C(runtime), with a limit
  type: int
  sample: 0
restarted:
  description: Whether the runtime was restarted or, in check mode, would be.
  returned: for C(runtime)
  type: bool
restart_pending:
  description: Whether a restart is needed but left to a later call.
  returned: for C(runtime)
  type: bool
version:
  description: Name and version of the runtime, reported by its CRI after the restart.
  returned: for C(runtime), when restarted
  type: str
  sample: containerd 2.1.9
sandbox_records:
  description: Sandbox records left behind by failed NRI attaches, with the names of their sandboxes. They still exist.
  returned: for C(runtime), when there are any
  type: list
  elements: str
  sample: [bad_lab_uid-bad_0 (0f38942f46b9)]
sandbox_records_removed:
  description:
    - Such records that were removed. Records that prevented the runtime from starting cannot be listed beforehand, so
      they are not in RV(changes).
  returned: for C(runtime), when there were any
  type: list
  elements: str
  sample: [bad_lab_uid-bad_0 (0f38942f46b9)]
plugins_missing:
  description: Number of NRI plugins that were connected before the restart and have not reconnected.
  returned: for C(runtime), when restarted
  type: int
unit:
  description: The systemd unit of the runtime or the daemon.
  returned: for C(runtime), C(daemons), if one runs or is to run
  type: str
  sample: zerocopy-rdma-inject.service
service:
  description: State of the unit, as systemd calls it.
  returned: for C(daemons), if one runs or is to run
  type: str
  sample: active
registered:
  description: Whether the plugin is registered with the runtime.
  returned: for C(daemons), if one runs or is to run
  type: bool
registered_by:
  description:
    - V(runtime) if the plugin says that it is registered and the runtime holds a connection with it. V(plugin) if only
      the plugin says so because the kernel does not show connections. Empty if the plugin is not registered.
    - NRI has no list of plugins to query.
  returned: for C(daemons), if one runs or is to run
  type: str
  sample: runtime
exporter:
  description:
    - Of the daemon C(exporter), the names of its C(unit), what systemd calls the state of its C(service), and its part
      of the C(changes).
  returned: for C(daemons), if the exporter runs or is to run, or is removed
  type: dict
  sample: {unit: zerocopy-rdma-exporter.service, service: active, changes: []}
attributes:
  description: The same of the daemon C(attributes).
  returned: for C(daemons), if this daemon runs or is to run, or is removed
  type: dict
  sample: {unit: zerocopy-rdma-attributes.service, service: active, changes: []}
lldpd:
  description:
    - The same of C(lldpd). C(package) has to be installed before another call starts it; it is empty if it is.
  returned: for C(daemons), if this collection's configuration of it is there or is to be, or is removed
  type: dict
  sample: {unit: lldpd.service, package: "", service: active, changes: []}
config_error:
  description: Why the plugin still uses an older configuration. V(null) if it uses the current one.
  returned: for C(daemons), if one runs or is to run
  type: str
injected:
  description: Number of containers that got devices since the plugin started.
  returned: for C(daemons), if one runs or is to run
  type: int
refused:
  description: Number of containers that were refused since the plugin started.
  returned: for C(daemons), if one runs or is to run
  type: int
last_refusal:
  description: Why the last refused container was refused. V(null) if none was refused.
  returned: for C(daemons), if one runs or is to run
  type: str
"""

from functools import partial
from typing import Any, Callable, Dict, List, Mapping

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.zerocopy.rdma.plugins.module_utils._payload.sources import compile_once

compile_once()

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare import concerns
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons import every
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel import request as kernel_options
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import request as links_options
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.module import answer, read
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import image_options
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import options as runtime_options

_SPECS: Mapping[str, Mapping[str, Any]] = {
    "kernel": kernel_options.SPEC,
    "links": links_options.SPEC,
    "runtime": runtime_options.ARGUMENTS,
}


def _daemons(daemons: Mapping[str, Mapping[str, Any]], state: Mapping[str, str]) -> concerns.Options:
    unknown = sorted(set(daemons) - set(every.DAEMONS))
    if unknown:
        raise HostError(f"daemons has the key {unknown[0]!r}, it must be {' or '.join(every.DAEMONS)}")
    wanted = {name: {**options, **state} for name, options in daemons.items()}
    return {name: read(every.spec(name, options), options) for name, options in wanted.items()}


def _images(images: List[Dict[str, Any]], state: Mapping[str, str]) -> concerns.Options:
    spec, required = image_options.ARGUMENTS, image_options.REQUIRED_IF
    return {"images": [read(spec, {**options, **state}, required) for options in images]}


# Concerns that have options for each of several things.
_MANY: Mapping[str, Callable[[Any, Mapping[str, str]], concerns.Options]] = {"daemons": _daemons, "images": _images}


def _readers(params: Mapping[str, Any]) -> Dict[str, Callable[[], concerns.Options]]:
    """By each concern that was given, what reads its options."""
    given = {name: params[name] for name in concerns.CONCERNS if params[name] is not None}
    # The state of one concern may be another one: the plugin goes from nodes that have another strategy.
    state = {"state": "absent"} if params["state"] == "absent" else {}
    found: Dict[str, Callable[[], concerns.Options]] = {}
    for name, options in given.items():
        if name in _SPECS:
            found[name] = partial(read, _SPECS[name], {**options, **state})
        elif name in _MANY:
            found[name] = partial(_MANY[name], options, state)
        else:
            found[name] = partial(dict, name=options)
    return found


def main() -> None:
    module = AnsibleModule(argument_spec=concerns.SPEC, supports_check_mode=True)
    readers = _readers(module.params)
    if module.params["compare"]:
        answer(module, lambda: concerns.compare(readers, module._diff))
    if len(readers) != 1:
        module.fail_json(msg=f"parts: one is changed in a call, but there are {len(readers)}")
    concern, reader = next(iter(readers.items()))
    answer(module, lambda: concerns.change(concern, reader(), module.check_mode))


if __name__ == "__main__":
    main()
