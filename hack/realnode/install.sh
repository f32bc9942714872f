#!/usr/bin/env bash
# install.sh DIR: links everything that a real one-node Kubernetes needs into DIR: Kubernetes' own programs, containerd,
# the CNI plugins (DIR/cni), CoreDNS and pause, built from Go modules into the per-user cache; and installs the Debian
# packages that the node uses.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../gobuild.sh
. "$here/../gobuild.sh"
dest=${1:?usage: install.sh DIR}
label=node
binaries=(containerd ctr containerd-shim-runc-v2 cni/bridge cni/loopback cni/host-local cni/portmap coredns pause)

containerd_version=$(sed -n 's/^\tgithub\.com\/containerd\/containerd\/v2 v\([0-9.]*\).*/\1/p' "$here/go.mod")
# The cache key includes the sources.
cache=$(user_cache "node/$(cat "$here/go.mod" "$here"/*/main.go | sha256sum | cut -c1-12)")

# install_packages: package:command pairs; a package is installed only if its command is missing.
install_packages() {
	local pair lacking=() sudo
	for pair in runc:runc iptables:iptables conntrack:conntrack socat:socat openssl:openssl iproute2:ip util-linux:unshare; do
		PATH=$PATH:/usr/sbin:/sbin command -v "${pair#*:}" >/dev/null || lacking+=("${pair%%:*}")
	done
	[ "${#lacking[@]}" -gt 0 ] || return 0
	command -v apt-get >/dev/null || { say "install ${lacking[*]} first" >&2; exit 1; }
	say "installing ${lacking[*]}"
	sudo=$([ "$(id -u)" = 0 ] || echo sudo)
	$sudo apt-get update -qq
	DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${lacking[@]}" >/dev/null
}

# usual NAME: prints how many seconds a build takes on two processors, if those before it were built.
usual() {
	case $1 in
	containerd) echo 360 ;;
	coredns) echo 300 ;;
	*) echo 40 ;;
	esac
}

build_one() {
	case $1 in
	cni/bridge | cni/loopback) build "$1" "$(usual "$1")" "$here" "github.com/containernetworking/plugins/plugins/main/${1#cni/}" -ldflags '-s -w' ;;
	cni/host-local) build "$1" "$(usual "$1")" "$here" github.com/containernetworking/plugins/plugins/ipam/host-local -ldflags '-s -w' ;;
	cni/portmap) build "$1" "$(usual "$1")" "$here" github.com/containernetworking/plugins/plugins/meta/portmap -ldflags '-s -w' ;;
	coredns | pause) build "$1" "$(usual "$1")" "$here" "./$1" -ldflags '-s -w' ;;
	*) build "$1" "$(usual "$1")" "$here" "github.com/containerd/containerd/v2/cmd/$1" -tags no_btrfs,no_devmapper,no_zfs \
		-ldflags "-s -w -X github.com/containerd/containerd/v2/version.Version=$containerd_version" ;;
	esac
}

[ "$(go env GOOS)" = linux ] || { say "a node runs on Linux only: give make e2e a cluster with E2E_KUBECONFIG" >&2; exit 1; }
install_packages
"$here/../controlplane/install.sh" "$dest" etcd kube-apiserver kube-controller-manager kubectl kube-scheduler kubelet kube-proxy
lock_cache
for name in $(missing "$cache"); do build_one "$name"; done
for name in "${binaries[@]}"; do link "$cache/$name" "$dest/$name"; done
say "all programs of a node are in $dest"
