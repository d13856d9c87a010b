// Copyright: (c) 2026, the zerocopy.rdma authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

// A stand-in for hardware: a NIC has Data Center Bridging by IEEE 802.1Qaz, whose settings are kept in memory and have
// no effect. APP entries (DSCPs) are kept by the kernel, as those of a real driver are.

#include <linux/dcbnl.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/dcbnl.h>
#include <net/net_namespace.h>

static char *netdev;
module_param(netdev, charp, 0444);
MODULE_PARM_DESC(netdev, "Name of the netdev, which may appear later");

// One netdev, and all that happens to it holds the RTNL.
static struct net_device *owner;
static struct ieee_ets ets;
static struct ieee_pfc pfc;
static u8 dcbx;

static int get_ets(struct net_device *dev, struct ieee_ets *answer)
{
	*answer = ets;
	return 0;
}

static int set_ets(struct net_device *dev, struct ieee_ets *wanted)
{
	int tc, sum = 0, shared = 0;

	for (tc = 0; tc < IEEE_8021QAZ_MAX_TCS; tc++) {
		if (wanted->prio_tc[tc] >= IEEE_8021QAZ_MAX_TCS)
			return -EINVAL;
		if (wanted->tc_tsa[tc] == IEEE_8021QAZ_TSA_ETS) {
			shared++;
			sum += wanted->tc_tx_bw[tc];
		}
	}
	// As mlx5 has it (mlx5e_dbcnl_validate_ets).
	if (shared && sum != 100)
		return -EINVAL;
	ets = *wanted;
	ets.ets_cap = IEEE_8021QAZ_MAX_TCS;
	return 0;
}

static int get_pfc(struct net_device *dev, struct ieee_pfc *answer)
{
	*answer = pfc;
	return 0;
}

static int set_pfc(struct net_device *dev, struct ieee_pfc *wanted)
{
	pfc.pfc_en = wanted->pfc_en;
	return 0;
}

static u8 get_dcbx(struct net_device *dev)
{
	return dcbx;
}

static u8 set_dcbx(struct net_device *dev, u8 mode)
{
	dcbx = mode;
	return 0;
}

static const struct dcbnl_rtnl_ops ops = {
	.ieee_getets = get_ets,
	.ieee_setets = set_ets,
	.ieee_getpfc = get_pfc,
	.ieee_setpfc = set_pfc,
	.getdcbx = get_dcbx,
	.setdcbx = set_dcbx,
};

static void begin(struct net_device *dev)
{
	int tc;

	memset(&ets, 0, sizeof(ets));
	memset(&pfc, 0, sizeof(pfc));
	ets.ets_cap = pfc.pfc_cap = IEEE_8021QAZ_MAX_TCS;
	for (tc = 0; tc < IEEE_8021QAZ_MAX_TCS; tc++)
		ets.prio_tc[tc] = tc;
	dcbx = DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE;
	owner = dev;
	dev->dcbnl_ops = &ops;
}

static int changed(struct notifier_block *block, unsigned long event, void *data)
{
	struct net_device *dev = netdev_notifier_info_to_dev(data);

	// udev gives the name after the registration. A NIC that only goes to another namespace keeps its settings.
	if (!owner && !dev->dcbnl_ops && (event == NETDEV_REGISTER || event == NETDEV_CHANGENAME) &&
	    net_eq(dev_net(dev), &init_net) && !strcmp(dev->name, netdev))
		begin(dev);
	else if (dev == owner && event == NETDEV_UNREGISTER && dev->reg_state == NETREG_UNREGISTERING)
		owner = NULL;
	return NOTIFY_DONE;
}

static struct notifier_block block = {
	.notifier_call = changed,
};

static int __init start(void)
{
	if (!netdev)
		return -EINVAL;
	// Tells of those that are there as well.
	return register_netdevice_notifier(&block);
}

static void __exit stop(void)
{
	unregister_netdevice_notifier(&block);
	rtnl_lock();
	if (owner)
		owner->dcbnl_ops = NULL;
	rtnl_unlock();
}

module_init(start);
module_exit(stop);
MODULE_DESCRIPTION("Data Center Bridging in memory for a NIC that has none");
MODULE_LICENSE("GPL");
