// Copyright: (c) 2026, the zerocopy.rdma authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

// A stand-in for hardware: Soft-RoCE devices appear as those of the PCI functions of their netdevs.

#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <rdma/ib_verbs.h>

static const char function[] = "ib_register_device";

static int before(struct kprobe *probe, struct pt_regs *regs)
{
	struct ib_device *device = (struct ib_device *)regs_get_kernel_argument(regs, 0);
	struct net_device *netdev;

	if (device->ops.driver_id != RDMA_DRIVER_RXE)
		return 0;
	netdev = ib_device_get_netdev(device, 1);
	if (!netdev)
		return 0;
	if (netdev->dev.parent && !device->dev.parent) {
		// The netdev outlives the device: Soft-RoCE goes when its netdev does.
		device->dev.parent = netdev->dev.parent;
		// "parent", an attribute that only Soft-RoCE has.
		device->ops.device_group = NULL;
	}
	dev_put(netdev);
	return 0;
}

static struct kprobe probe = {
	.symbol_name = function,
	.pre_handler = before,
};

static int __init start(void)
{
	return register_kprobe(&probe);
}

static void __exit stop(void)
{
	unregister_kprobe(&probe);
}

module_init(start);
module_exit(stop);
MODULE_DESCRIPTION("Soft-RoCE devices on the PCI functions of their netdevs");
MODULE_LICENSE("GPL");
