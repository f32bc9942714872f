#!/usr/bin/env bash
# configure.sh: writes the configuration files of the node's programs. All paths in them are absolute.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

mkdir -p "$CONF/cni"
# Names outside the cluster are not resolved, because the node has no external network.
echo "nameserver 127.0.0.1" >"$CONF/resolv.conf"

cat >"$CONF/containerd.toml" <<EOF
version = 3
root = "$RUN/containerd"
state = "/run/containerd-state"
[grpc]
  address = "$RUN/containerd.sock"
[plugins.'io.containerd.internal.v1.opt']
  path = "$RUN/containerd-opt"
[plugins.'io.containerd.cri.v1.images']
  snapshotter = "${NODE_SNAPSHOTTER:-overlayfs}"
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = "localhost/pause:dev"
[plugins.'io.containerd.cri.v1.runtime']
  # Root may lack the capability to lower a process's OOM score, for example in containers.
  restrict_oom_score_adj = true
  [plugins.'io.containerd.cri.v1.runtime'.containerd]
    default_runtime_name = "runc"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
        SystemdCgroup = false
    # A second handler, for the tests of runtime classes.
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.isolated]
      runtime_type = "io.containerd.runc.v2"
      [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.isolated.options]
        SystemdCgroup = false
        Root = "$RUN/isolated"
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ["$NODE_BIN/cni"]
    conf_dir = "$CONF/cni"
[plugins.'io.containerd.nri.v1.nri']
  disable = true
EOF

cat >"$CONF/kubelet.yaml" <<EOF
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $NODE_IP
port: 10250
readOnlyPort: 0
healthzBindAddress: 127.0.0.1
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $PKI/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: $PKI/kubelet.crt
tlsPrivateKeyFile: $PKI/kubelet.key
cgroupDriver: cgroupfs
cgroupRoot: /$NODE_CGROUP
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
containerRuntimeEndpoint: unix://$RUN/containerd.sock
clusterDNS: [$DNS_IP]
clusterDomain: cluster.local
resolvConf: $CONF/resolv.conf
podLogsDir: $LOG/pods
volumePluginDir: $RUN/volume-plugins
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {memory.available: 100Mi, nodefs.available: "1%", nodefs.inodesFree: "1%", imagefs.available: "1%"}
EOF

cat >"$CONF/cni/10-bridge.conflist" <<EOF
{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": "$RUN/ipam", "ranges": [[{"subnet": "$POD_CIDR"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
EOF
