#!/usr/bin/env bash
# pki.sh: creates the node's certificates and kubeconfigs under $NODE_DIR/pki. They last as long as the node.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }

# authority NAME COMMON_NAME
authority() {
	key "$1"
	openssl req -x509 -new -key "$1.key" -days 30 -subj "/CN=$2" -out "$1.crt"
}

# certificate NAME SUBJECT AUTHORITY [NAMES]
certificate() {
	key "$1"
	openssl req -new -key "$1.key" -subj "$2" -out "$1.csr"
	openssl x509 -req -in "$1.csr" -CA "$3.crt" -CAkey "$3.key" -CAcreateserial -days 30 -out "$1.crt" \
		-extfile <(printf 'keyUsage=digitalSignature\nextendedKeyUsage=clientAuth,serverAuth\n%s\n' "${4:+subjectAltName=$4}") 2>/dev/null
	rm "$1.csr"
}

# kubeconfig FILE CERTIFICATE SERVER
kubeconfig() {
	cat >"$1" <<-EOF
		apiVersion: v1
		kind: Config
		clusters:
		- {name: node, cluster: {server: "$3", certificate-authority-data: $(base64 -w0 <ca.crt)}}
		users:
		- {name: $2, user: {client-certificate-data: $(base64 -w0 <"$2.crt"), client-key-data: $(base64 -w0 <"$2.key")}}
		contexts:
		- {name: node, context: {cluster: node, user: $2}}
		current-context: node
	EOF
}

umask 077
mkdir -p "$PKI" && cd "$PKI"
authority ca kubernetes-ca
authority front front-proxy-ca
certificate apiserver /CN=kube-apiserver ca "DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local,IP:127.0.0.1,IP:10.96.0.1,IP:$NODE_IP"
certificate kubelet-client /O=system:masters/CN=kube-apiserver-kubelet-client ca
certificate front-client /CN=front-proxy-client front
certificate kubelet "/O=system:nodes/CN=system:node:$NODE_NAME" ca "DNS:$NODE_NAME,IP:$NODE_IP,IP:127.0.0.1"
certificate admin /O=system:masters/CN=admin ca
certificate controller-manager /CN=system:kube-controller-manager ca
certificate scheduler /CN=system:kube-scheduler ca
certificate proxy /CN=system:kube-proxy ca
openssl genrsa -out sa.key 2048 2>/dev/null
openssl rsa -in sa.key -pubout -out sa.pub 2>/dev/null
for name in kubelet admin controller-manager scheduler proxy; do kubeconfig "$name.kubeconfig" "$name" "https://$NODE_IP:6443"; done
kubeconfig ../kubeconfig admin "https://127.0.0.1:${1:?usage: pki.sh PORT}"
