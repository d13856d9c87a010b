# shellcheck shell=sh
# Runs in a pod: RDMA from its first device to itself, one ib_write_bw after another, with a line for each, until
# /tmp/stop is there or one fails. The last line is "stopped" or why it failed.
for verbs in /dev/infiniband/uverbs*; do
    device=$(cat "/sys/class/infiniband_verbs/${verbs##*/}/ibdev")
    break
done
port=/sys/class/infiniband/$device/ports/1
# The last RoCE v2 GID with an IPv4 address, as in probe.sh.
for entry in $(cd "$port/gid_attrs/types" && grep -lx 'RoCE v2' ./* 2>/dev/null | sort -t / -k 2 -n); do
    case $(cat "$port/gids/${entry#./}") in 0000:0000:0000:0000:0000:ffff:*) index=${entry#./} ;; esac
done
set -- -d "$device" -x "$index" -p 18600 -F -n 20 -s 1048576
while [ ! -e /tmp/stop ]; do
    timeout 300 ib_write_bw "$@" >/dev/null 2>&1 &
    tries=60
    until said=$(timeout 300 ib_write_bw "$@" 127.0.0.1 2>&1); do
        tries=$((tries - 1))
        # Until the server listens, its port refuses.
        case $said in *"Couldn't connect"*) [ "$tries" -gt 0 ] && sleep 1 && continue ;; esac
        printf 'failed: %s\n' "$said"
        exit 1
    done
    wait "$!" || { echo 'failed: the server' && exit 1; }
    echo written
done
echo stopped
