# Shared by the scripts of the node. NODE_DIR is the state directory (absolute), NODE_BIN the directory that install.sh filled.
# shellcheck shell=bash
: "${NODE_DIR:?}" "${NODE_BIN:?}"
export NODE_NAME=node1 NODE_IP=10.99.0.1 SERVICE_CIDR=10.96.0.0/16 POD_CIDR=10.244.0.0/24 DNS_IP=10.96.0.10
export PATH=$NODE_BIN:$PATH:/usr/sbin:/sbin
NODE_CGROUP=nestor-node-$(cksum <<<"$NODE_DIR" | cut -d' ' -f1)
PKI=$NODE_DIR/pki CONF=$NODE_DIR/conf RUN=$NODE_DIR/run LOG=$NODE_DIR/log

say() { printf 'node: %s\n' "$*"; }

# cgroup_dirs: prints the node's cgroup in every hierarchy (one with cgroup v2).
cgroup_dirs() {
	local dir
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
		echo "/sys/fs/cgroup/$NODE_CGROUP"
		return
	fi
	for dir in /sys/fs/cgroup/*/; do
		if [ -e "$dir/cgroup.procs" ] && [ ! -L "${dir%/}" ]; then echo "$dir$NODE_CGROUP"; fi
	done
}

# kernel_settings: prints the machine-wide settings that a kubelet changes; they are restored when the node is gone.
kernel_settings() {
	sysctl vm.overcommit_memory vm.panic_on_oom kernel.panic kernel.panic_on_oops kernel.keys.root_maxkeys kernel.keys.root_maxbytes 2>/dev/null || true
}
