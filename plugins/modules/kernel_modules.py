#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: kernel_modules
short_description: Load kernel modules now and at boot, with options, blacklist and RDMA netns mode
version_added: 0.1.0
description:
  - Loads kernel modules now, has systemd load them at boot (C(/etc/modules-load.d)), sets their options and blacklists
    others (C(/etc/modprobe.d)).
  - Everything is checked before the first change. A module that does not exist for the running kernel is an error that
    names the distribution's package with it, where that is known. Modules built into the kernel are fine.
  - An option that differs from what the running kernel uses needs a restart of the node, which this module reports
    (RV(reboot_required)) and never does. It asks once. When the node was restarted since and the value still is not in
    effect, RV(not_effective) says why instead, so that nothing restarts a node again and again.
  - The RDMA network namespace mode is changed in the running kernel too when no other network namespace exists, which
    is the kernel's own condition.
  - O(state=absent) puts the files back as they were and unloads what was loaded for them and is not in use.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.state_module
options:
  modules:
    description:
      - Modules to load. C(-) and C(_) are the same.
      - An alias of a module (as in C(modprobe -c)) is refused with the name of the module it stands for.
      - A module that was loaded for this list and is no longer in it is unloaded, when nothing uses it.
    type: list
    elements: str
    default: []
  options:
    description:
      - Options by module, a dictionary of parameter and value. Booleans become V(1) and V(0).
      - Other files of C(modprobe.d) and the kernel's command line that say something else lead to a warning. Where they
        win, the option is in RV(not_effective).
    type: dict
    default: {}
  blacklist:
    description: Modules not to be loaded for the hardware they match. One that is loaded stays until a restart.
    type: list
    elements: str
    default: []
  netns_mode:
    description:
      - How network namespaces see RDMA devices, V(shared) (the kernel's default) or V(exclusive).
      - Left alone when not given. Needs the parameter C(netns_mode) of C(ib_core).
    type: str
    choices: [shared, exclusive]
  update_initramfs:
    description:
      - Whether to rebuild each initramfs that contains a module whose options or blacklisting changed, with
        C(update-initramfs) or C(dracut). Without it, RV(initramfs_outdated) and a warning say so.
      - Which modules an initramfs contains is looked up only when it is older than the options, and only once, since
        that takes seconds.
    type: bool
    default: false
  name:
    description:
      - Base of the names of the two files. Each name has its own state.
    type: str
    default: zerocopy-rdma
  root:
    description:
      - Directory that holds the node's files. With another value than V(/) only files below it are read and written,
        nothing of the running machine is asked or changed.
      - Modules are then checked against C(lib/modules) below it, if that has the modules of exactly one kernel.
    type: path
    default: /
  state:
    description:
      - V(present) brings the node to what the other options say.
      - V(absent) undoes what this module did under O(name); other options are then ignored except O(root) and
        O(update_initramfs).
    type: str
    choices: [present, absent]
    default: present
notes:
  - What was there before is kept in C(/var/lib/zerocopy-rdma) on the node. A node whose files start anew at every boot
    loses it, and would be told to restart every time; prepare its image with O(root) instead.
seealso:
  - module: community.general.modprobe
  - name: RDMA system configuration
    description: The netns mode of the RDMA subsystem.
    link: https://man7.org/linux/man-pages/man8/rdma-system.8.html
"""

EXAMPLES = r"""
- name: Load what RDMA from containers needs, now and at boot
  zerocopy.rdma.kernel_modules:
    modules: [rdma_cm, rdma_ucm, ib_uverbs, ib_umad]

- name: Give RDMA devices to pods exclusively, and keep a LAN driver's RDMA out of the way
  zerocopy.rdma.kernel_modules:
    modules: [rdma_cm, rdma_ucm, ib_uverbs, ib_umad]
    netns_mode: exclusive
    blacklist: [irdma]
    update_initramfs: true
  register: kernel

- name: Say what needs a restart
  ansible.builtin.debug:
    var: kernel.reboot_reasons
  when: kernel.reboot_required

- name: Set options in an image
  zerocopy.rdma.kernel_modules:
    root: /srv/images/gpu-node
    options:
      mlx5_core: {prof_sel: 3}

- name: Undo it
  zerocopy.rdma.kernel_modules:
    state: absent
"""

RETURN = r"""
changes:
  description:
    - What was changed, or would be in check mode. C(kind) is V(file), V(module), V(rdma_netns_mode) or V(initramfs).
  returned: success
  type: list
  elements: dict
  sample:
    - {kind: file, name: /etc/modules-load.d/zerocopy-rdma.conf, before: absent, after: present}
    - {kind: module, name: rdma_cm, before: unloaded, after: loaded}
reboot_required:
  description: Whether something is in effect only after a restart of the node.
  returned: success
  type: bool
reboot_reasons:
  description: Why, one text for each option or module.
  returned: success
  type: list
  elements: str
  sample: ["ib_core.netns_mode is Y, 0 counts from the next boot: other network namespaces exist (/run/netns/blue)"]
not_effective:
  description: Options that another restart would not bring into effect, and why. Each is also a warning.
  returned: success
  type: dict
  sample: {ib_core.netns_mode: "it is 1: /proc/cmdline sets 1, which comes later"}
initramfs_outdated:
  description: Whether an initramfs loads a module with other options than those wanted.
  returned: success
  type: bool
netns_mode:
  description:
    - RDMA network namespace mode of the running kernel. V(null) when ib_core is not loaded, or O(root) is not V(/).
  returned: success
  type: str
  sample: shared
modules:
  description:
    - State of each module in O(modules), after the run (in check mode, as it would be). V(loaded), V(builtin), with
      O(root) V(available) or V(unknown).
  returned: success
  type: dict
  sample: {rdma_cm: {state: loaded}, ib_uverbs: {state: builtin}}
warnings:
  description: What a person should look at, such as other files that contradict, or modules that could not be unloaded.
  returned: success
  type: list
  elements: str
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.apply import converge
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.intent import DEFAULT_NAME, intent
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.module import answer


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "modules": {"type": "list", "elements": "str", "default": []},
            "options": {"type": "dict", "default": {}},
            "blacklist": {"type": "list", "elements": "str", "default": []},
            "netns_mode": {"type": "str", "choices": ["shared", "exclusive"]},
            "update_initramfs": {"type": "bool", "default": False},
            "name": {"type": "str", "default": DEFAULT_NAME},
            "root": {"type": "path", "default": "/"},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        supports_check_mode=True,
    )
    params = module.params
    names = ["name", "update_initramfs"]
    if params["state"] == "present":
        names += ["modules", "options", "blacklist", "netns_mode"]
    options = {name: params[name] for name in names}
    answer(module, lambda: converge(Files(params["root"]), intent(**options), module.check_mode))


if __name__ == "__main__":
    main()
