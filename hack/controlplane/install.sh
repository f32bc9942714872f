#!/usr/bin/env bash
# install.sh DIR [NAME...]: links the programs of a control plane into DIR; by default etcd, kube-apiserver, kubectl
# and controllers, the program beside this script that runs the few controllers of Kubernetes that are needed here.
#
# Each binary is taken from the first source that has it:
#   1. the directory in KUBEBUILDER_ASSETS, if that is set;
#   2. the per-user cache, keyed by version, operating system and architecture;
#   3. the prebuilt envtest archive (it has no controllers), unless CONTROL_PLANE_PREBUILT=0;
#   4. a build from Go modules with the nested module beside this script.
# The results of 3 and 4 are cached, so a second clone only links.
#
# KUBERNETES=1.32.0 takes the programs of that release instead of the one that go.mod names.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../gobuild.sh
. "$here/../gobuild.sh"
dest=${1:?usage: install.sh DIR [NAME...]}
shift
binaries=("$@")
[ "${#binaries[@]}" -gt 0 ] || binaries=(etcd kube-apiserver kubectl controllers)
pinned=$(sed -n 's/^\tk8s\.io\/kubernetes \(v[0-9.]*\).*/\1/p' "$here/go.mod")
version=${KUBERNETES:+v${KUBERNETES#v}}
version=${version:-$pinned}
label=control-plane
[[ $version =~ ^v1\.[0-9]+\.[0-9]+$ ]] || { say "KUBERNETES=$KUBERNETES is not a release such as 1.32.0" >&2; exit 1; }
cache=$(user_cache "control-plane/$version")

# The cache key of our own program includes its sources.
controllers=controllers-$(cat "$here/go.mod" "$here"/controllers/*.go | cksum | cut -d ' ' -f 1)

package_of() {
	case $1 in
	etcd) echo go.etcd.io/etcd/server/v3 ;;
	controllers-*) echo ./controllers ;;
	*) echo "k8s.io/kubernetes/cmd/$1" ;;
	esac
}

# usual NAME: prints how many seconds a build takes on two processors, if those before it were built.
usual() {
	case $1 in
	etcd) echo 80 ;;
	kube-apiserver) echo 450 ;;
	kube-controller-manager) echo 140 ;;
	controllers-*) [ -d "$cache/envtest/k8s" ] && echo 120 || echo 20 ;;
	*) echo 40 ;;
	esac
}

# version_flags stamps the release into the binaries; without it they report v0.0.0-master and version
# checks between client and server fail.
version_flags() {
	local commit major minor field pkg
	commit=$(cd "$here" && go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/.*"Hash": "\([0-9a-f]*\)".*/\1/p')
	IFS=. read -r major minor _ <<<"${version#v}"
	for pkg in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
		for field in "gitVersion=$version" "gitMajor=$major" "gitMinor=$minor" "gitCommit=${commit:-unknown}" \
			gitTreeState=clean buildDate=1970-01-01T00:00:00Z; do
			printf -- '-X %s.%s ' "$pkg" "$field"
		done
	done
}

# module: prints the directory of a module that requires this release. go.mod names one of them; for the others it is made from the
# module file of Kubernetes itself, whose staging modules are replaced by the published ones.
module() {
	[ "$version" != "$pinned" ] || { echo "$here"; return; }
	local dir="$cache/module" theirs
	theirs=$(cd "$here" && go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/.*"GoMod": "\(.*\)",/\1/p')
	[ -n "$theirs" ] || { say "the module proxy has no k8s.io/kubernetes@$version" >&2; exit 1; }
	mkdir -p "$dir"
	{
		echo "module control-plane"
		grep -E '^(go|godebug) ' "$theirs"
		echo "require k8s.io/kubernetes $version"
		sed -nE "s|^\t?(replace )?(k8s\.io/[^ ]+) => \./staging/.*|replace \2 => \2 v0.${version#v1.}|p" "$theirs"
	} >"$dir/go.mod"
	echo "$dir"
}

fetch_prebuilt() {
	[ "${CONTROL_PLANE_PREBUILT:-1}" = 1 ] || return 1
	local dir
	say "looking for prebuilt binaries of ${version#v} (CONTROL_PLANE_PREBUILT=0 skips this)"
	dir=$(timeout 300 go tool -modfile="$here/../tools/go.mod" setup-envtest use "${version#v}" --bin-dir "$cache/envtest" -p path 2>/dev/null) || return 1
	local name
	for name in etcd kube-apiserver kubectl; do
		[ -x "$dir/$name" ] && cp "$dir/$name" "$cache/$name"
	done
	say "prebuilt etcd, kube-apiserver and kubectl taken"
}

if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
	[ -d "$KUBEBUILDER_ASSETS" ] || { say "KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS is not a directory" >&2; exit 1; }
	for name in "${binaries[@]}"; do
		if [ -x "$KUBEBUILDER_ASSETS/$name" ]; then link "$(cd "$KUBEBUILDER_ASSETS" && pwd)/$name" "$dest/$name"; fi
	done
	if [ -z "$(missing "$KUBEBUILDER_ASSETS")" ]; then
		say "all binaries come from KUBEBUILDER_ASSETS"
		exit 0
	fi
	say "KUBEBUILDER_ASSETS lacks $(missing "$KUBEBUILDER_ASSETS" | tr '\n' ' ')- taking those from elsewhere"
fi

binaries=("${binaries[@]/%controllers/$controllers}")
lock_cache
if [ -n "$(missing "$cache")" ]; then
	[ -z "$(ls "$cache")" ] && { fetch_prebuilt || say "no prebuilt binaries to be had; building from Go modules (about ten minutes on two processors, once)"; }
	module=$(module)
	# The module of another release has no go.sum yet; the checksum database verifies what go adds to it.
	mode=readonly
	[ "$version" = "$pinned" ] || mode=mod
	for name in $(missing "$cache"); do
		build "$name" "$(usual "$name")" "$module" "$(package_of "$name")" -mod="$mode" -ldflags "-s -w $(version_flags)"
	done
fi

for name in "${binaries[@]}"; do
	target=${name/%"$controllers"/controllers}
	if [ -n "${KUBEBUILDER_ASSETS:-}" ] && [ -x "$KUBEBUILDER_ASSETS/$target" ]; then continue; fi
	link "$cache/$name" "$dest/$target"
done
say "$version is in $dest"
