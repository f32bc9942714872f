#!/usr/bin/env bash
# init.sh: the first process in the node's own network, mount and process namespaces. It starts all parts of Kubernetes and
# ends when one of them ends; everything that still runs on the node, including pods, ends with it.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
export KUBECONFIG=$PKI/admin.kubeconfig

# Writes outside the node's own directory go to private file systems.
private_files() {
	mount --make-rshared /
	local dir
	for dir in /run /var/lib /var/log; do mount -t tmpfs -o mode=755 "node$dir" "$dir"; done
}

network() {
	ip link set lo up
	ip link add node0 type bridge # the API server and the kubelet need an address that is not loopback
	ip addr add "$NODE_IP/24" dev node0
	ip link set node0 up
	ip route add default dev node0
	sysctl -qw net.ipv4.ip_forward=1
	sysctl -qw net.bridge.bridge-nf-call-iptables=1 2>/dev/null || true # absent while the module is not loaded
}

# start NAME COMMAND...: runs a part of the node.
start() {
	local name=$1
	shift
	"$@" >"$LOG/$name.log" 2>&1 &
	parts[$!]=$name
}

# as NAME: prints the credential flags of a controller.
as() {
	printf -- '%s\n' "--kubeconfig=$PKI/$1.kubeconfig" "--authentication-kubeconfig=$PKI/$1.kubeconfig" \
		"--authorization-kubeconfig=$PKI/$1.kubeconfig" --bind-address=127.0.0.1 --leader-elect=false
}

control_plane() {
	start etcd etcd --data-dir "$RUN/etcd" --unsafe-no-fsync --listen-client-urls http://127.0.0.1:2379 \
		--advertise-client-urls http://127.0.0.1:2379 --listen-peer-urls http://127.0.0.1:2380 --log-level error
	start apiserver kube-apiserver --etcd-servers=http://127.0.0.1:2379 --bind-address="$NODE_IP" --advertise-address="$NODE_IP" --secure-port=6443 \
		--service-cluster-ip-range="$SERVICE_CIDR" --tls-cert-file="$PKI/apiserver.crt" --tls-private-key-file="$PKI/apiserver.key" --client-ca-file="$PKI/ca.crt" \
		--kubelet-client-certificate="$PKI/kubelet-client.crt" --kubelet-client-key="$PKI/kubelet-client.key" \
		--kubelet-certificate-authority="$PKI/ca.crt" --kubelet-preferred-address-types=InternalIP \
		--requestheader-client-ca-file="$PKI/front.crt" --requestheader-allowed-names=front-proxy-client --requestheader-username-headers=X-Remote-User \
		--requestheader-group-headers=X-Remote-Group --requestheader-extra-headers-prefix=X-Remote-Extra- \
		--proxy-client-cert-file="$PKI/front-client.crt" --proxy-client-key-file="$PKI/front-client.key" --enable-aggregator-routing=true \
		--service-account-issuer=https://kubernetes.default.svc.cluster.local --service-account-key-file="$PKI/sa.pub" --service-account-signing-key-file="$PKI/sa.key" \
		--authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --allow-privileged=true
	until kubectl get --raw /readyz >/dev/null 2>&1; do sleep 0.2; done
	mapfile -t flags < <(as controller-manager)
	start controller-manager kube-controller-manager "${flags[@]}" --root-ca-file="$PKI/ca.crt" --service-account-private-key-file="$PKI/sa.key" \
		--cluster-signing-cert-file="$PKI/ca.crt" --cluster-signing-key-file="$PKI/ca.key" --use-service-account-credentials=true --flex-volume-plugin-dir="$RUN/volume-plugins" \
		--cluster-cidr="$POD_CIDR" --allocate-node-cidrs=false --service-cluster-ip-range="$SERVICE_CIDR"
	mapfile -t flags < <(as scheduler)
	start scheduler kube-scheduler "${flags[@]}"
}

node() {
	start kubelet kubelet --kubeconfig="$PKI/kubelet.kubeconfig" --config="$CONF/kubelet.yaml" --root-dir="$RUN/kubelet" --cert-dir="$RUN/kubelet/pki" \
		--hostname-override="$NODE_NAME" --node-ip="$NODE_IP"
	start proxy kube-proxy --kubeconfig="$PKI/proxy.kubeconfig" --hostname-override="$NODE_NAME" --cluster-cidr="$POD_CIDR" --proxy-mode=iptables \
		--healthz-bind-address=127.0.0.1 --metrics-bind-address=127.0.0.1 \
		--conntrack-max-per-core=0 --conntrack-tcp-timeout-established=0 --conntrack-tcp-timeout-close-wait=0
	# A socket in the file system would be reachable from outside the network namespace.
	start relay socat "UNIX-LISTEN:$RUN/api.sock,fork" "TCP:$NODE_IP:6443"
}

declare -A parts
private_files
network
start containerd containerd --config "$CONF/containerd.toml"
control_plane
node
touch "$RUN/started"
# All parts are running: the node ends with the first that ends.
wait -n -p ended "${!parts[@]}" || true
echo "${parts[$ended]} has ended" >"$RUN/failed"
