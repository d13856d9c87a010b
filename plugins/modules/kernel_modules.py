#!/usr/bin/python
# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: kernel_modules
short_description: Configure a node's kernel for RDMA
version_added: 0.1.0
description:
  - Loads kernel modules now and at boot (C(/etc/modules-load.d)), sets module options and blacklists modules
    (C(/etc/modprobe.d)), sets the RDMA network namespace mode, and sets how much memory users may lock
    (C(/etc/security/limits.d)).
  - Everything is validated before the first change. A module that does not exist for the running kernel is an error;
    the message names the package that contains it, if known. Modules built into the kernel are accepted.
  - If an option differs from the value in the running kernel, the node needs a reboot. The module reports that once
    (RV(reboot_required)) and never reboots. If the value is still not in effect after a reboot, RV(not_effective) gives
    the reason instead, so that nothing reboots a node repeatedly.
  - The RDMA network namespace mode is also changed in the running kernel if no other network namespace exists, a
    condition set by the kernel.
  - O(state=absent) restores the files and unloads the modules that were loaded for them, unless they are in use.
author:
  - The zerocopy.rdma authors (!UNKNOWN)
extends_documentation_fragment:
  - zerocopy.rdma._attributes
  - zerocopy.rdma._attributes.state_module
options:
  modules:
    description:
      - Modules to load. In the names of modules and parameters, C(-) and C(_) are equivalent, here and in the other
        options.
      - An alias (see C(modprobe -c)) is rejected; the error names the module it stands for.
      - A module that was loaded for this list is unloaded when it leaves the list, unless it is in use or another file
        in C(modules-load.d) lists it.
    type: list
    elements: str
    default: []
  options:
    description:
      - Module options, a dictionary of parameters and values for each module. Booleans become V(1) and V(0).
      - A warning lists other files in C(modprobe.d) and kernel arguments that set a different value. If one of them
        takes precedence, the option is in RV(not_effective).
    type: dict
    default: {}
  blacklist:
    description:
      - Modules that must not be loaded automatically for matching hardware. A module that is already loaded stays
        loaded until a reboot.
    type: list
    elements: str
    default: []
  netns_mode:
    description:
      - RDMA network namespace mode, V(shared) (the kernel's default) or V(exclusive).
      - If unset, the mode is not changed. Requires the parameter C(netns_mode) of C(ib_core).
    type: str
    choices: [shared, exclusive]
  user_memlock:
    description:
      - Memory that each user, including root, may lock, V(unlimited) or a number of KiB from V(64). It applies to new
        logins.
      - Written to C(/etc/security/limits.d/90-zerocopy-rdma.conf) (with the O(name) you set), below any lines that are
        in that file already.
      - Warns about lines in C(/etc/security/limits.conf) and C(/etc/security/limits.d) that give some users a lower
        limit, because the lines are read later or apply to a specific user or group. These lines are not changed.
      - Also warns if the PAM stack of a login (C(sshd), C(login), C(systemd-user) and what they usually include) gives
        C(pam_limits.so) a file of its own (C(conf=)), because the limit then has no effect there.
      - If unset or empty, the limit is not changed.
    type: str
  update_initramfs:
    description:
      - Whether to rebuild each initramfs that contains a module whose options or blacklisting changed, with
        C(update-initramfs) or C(dracut). If V(false), such an initramfs is reported by RV(initramfs_outdated) and a
        warning.
      - The modules in an initramfs are listed only if it is older than the options, and only once, because listing them
        takes seconds.
    type: bool
    default: false
  name:
    description:
      - Base name of the files. Each name has its own state.
    type: str
    default: zerocopy-rdma
  root:
    description:
      - Root directory of the node's files. With a value other than V(/), only files below it are read and written; the
        running system is neither inspected nor changed.
      - Modules are then checked against C(lib/modules) below it, if it contains the modules of exactly one kernel.
    type: path
    default: /
  state:
    description:
      - V(present) applies the other options.
      - V(absent) restores what this module changed under O(name). Only O(root) and O(update_initramfs) apply then.
    type: str
    choices: [present, absent]
    default: present
notes:
  - Originals are kept in C(/var/lib/zerocopy-rdma) on the node. A node that boots a fresh image every time loses them
    and would be asked to reboot every time; prepare its image with O(root) instead.
seealso:
  - module: community.general.modprobe
  - name: RDMA system configuration
    description: The netns mode of the RDMA subsystem.
    link: https://man7.org/linux/man-pages/man8/rdma-system.8.html
"""

EXAMPLES = r"""
- name: Load the modules that RDMA in containers needs, and remove the locked-memory limit of users
  zerocopy.rdma.kernel_modules:
    modules: [rdma_cm, rdma_ucm, ib_uverbs, ib_umad]
    user_memlock: unlimited

- name: Give RDMA devices to pods exclusively, and disable a LAN driver's RDMA
  zerocopy.rdma.kernel_modules:
    modules: [rdma_cm, rdma_ucm, ib_uverbs, ib_umad]
    netns_mode: exclusive
    blacklist: [irdma]
    update_initramfs: true
  register: kernel

- name: Show why a reboot is needed
  ansible.builtin.debug:
    var: kernel.reboot_reasons
  when: kernel.reboot_required

- name: Set options in an image
  zerocopy.rdma.kernel_modules:
    root: /srv/images/gpu-node
    options:
      mlx5_core: {prof_sel: 3}

- name: Restore the original configuration
  zerocopy.rdma.kernel_modules:
    state: absent
"""

RETURN = r"""
changes:
  description:
    - What changed or, in check mode, would change. C(kind) is V(file), V(module), V(rdma_netns_mode) or V(initramfs).
  returned: success
  type: list
  elements: dict
  sample:
    - {kind: file, name: /etc/modules-load.d/zerocopy-rdma.conf, before: absent, after: present}
    - {kind: module, name: rdma_cm, before: unloaded, after: loaded}
reboot_required:
  description: Whether the node needs a reboot.
  returned: success
  type: bool
reboot_reasons:
  description: Why the node needs a reboot, one message for each option or module.
  returned: success
  type: list
  elements: str
  sample: ["ib_core.netns_mode is Y, 0 takes effect at the next boot: other network namespaces exist (/run/netns/blue)"]
not_effective:
  description: Options that another reboot would not put into effect, and why. Each is also a warning.
  returned: success
  type: dict
  sample: {ib_core.netns_mode: "it is 1: /proc/cmdline sets 1, which takes precedence"}
initramfs_outdated:
  description: Whether an initramfs loads a module with outdated options.
  returned: success
  type: bool
netns_mode:
  description:
    - RDMA network namespace mode of the running kernel. V(null) if ib_core is not loaded, or O(root) is not V(/).
  returned: success
  type: str
  sample: shared
modules:
  description:
    - State of each module in O(modules) after the run (in check mode, the predicted state). V(loaded), V(builtin), or
      with O(root) V(available) or V(unknown).
  returned: success
  type: dict
  sample: {rdma_cm: {state: loaded}, ib_uverbs: {state: builtin}}
warnings:
  description: What needs attention, such as contradicting files, or modules that could not be unloaded.
  returned: if there are any
  type: list
  elements: str
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.converge import converge
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.request import SPEC
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.module import answer


def main() -> None:
    module = AnsibleModule(argument_spec=SPEC, supports_check_mode=True)
    answer(module, lambda: converge(module.params, module.check_mode))


if __name__ == "__main__":
    main()
