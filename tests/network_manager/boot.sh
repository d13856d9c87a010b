#!/bin/sh
# boot.sh ROOT COLLECTION NIC=MAC...: becomes the first process of a machine of its own, in the namespaces that `unshare`
# made. What it writes goes with it; NICs are veths whose other ends hang on a bridge in the network namespace "fabric".
set -e
lower=$1 collection=$2 here=$(dirname "$(realpath "$0")")
shift 2
mount -t tmpfs machine /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay machine -o "lowerdir=$lower,upperdir=/mnt/upper,workdir=/mnt/work" /mnt/root
cd /mnt/root
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t tmpfs run run
mount -t tmpfs dev dev
for node in null:3 zero:5 random:8 urandom:9; do mknod -m 666 "dev/${node%:*}" c 1 "${node#*:}"; done
mkdir -p usr/local/bin run/dbus run/lock srv/collections/ansible_collections/zerocopy/rdma srv/machine srv/pycache
mount --bind "$collection" srv/collections/ansible_collections/zerocopy/rdma
mount --bind "$here" srv/machine
mkdir -p "$collection/build/network_manager"
mount --bind "$collection/build/network_manager" srv/pycache
# The rules of a distribution would load modules, rename NICs, and mark veths as unmanaged.
mount -t tmpfs rules usr/lib/udev/rules.d
ln -sf /srv/machine/journalctl /srv/machine/busctl /srv/machine/udevadm usr/local/bin
printf 'root:x:0:0::/root:/bin/sh\nmessagebus:x:100:100::/:/bin/false\n' >etc/passwd
printf 'root:x:0:\nmessagebus:x:100:\n' >etc/group
mkdir -p etc/sysctl.d root
rm -rf var/run
ln -s /run var/run
printf '[main]\nno-auto-default=*\nplugins=keyfile\n' >etc/NetworkManager/NetworkManager.conf
printf '0123456789abcdef0123456789abcdef\n' >etc/machine-id

chroot . ip link set lo up
chroot . ip netns add fabric
chroot . ip -n fabric link add fabric address 02:00:00:00:ff:ff type bridge
chroot . ip -n fabric link set fabric up
for nic; do
    name=${nic%=*} mac=${nic#*=}
    chroot . ip link add "$name" address "$mac" mtu 1500 type veth peer name "$name" netns fabric
    chroot . ip -n fabric link set "$name" up mtu 9000 master fabric
done
chroot . dbus-daemon --system --nofork --nopidfile 2>run/dbus.log &
chroot . /lib/systemd/systemd-udevd 2>run/udev.log &
# Takes in what others leave behind, as the first process must.
exec chroot . sh -c 'while :; do sleep 1000 & wait; done'
