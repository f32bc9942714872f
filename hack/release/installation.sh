#!/usr/bin/env bash
# installation.sh DIR VERSION: writes what installs a release to its directory: the charts, install.yaml and roles.yaml, the Kustomize
# directories and the OLM bundle. All refer to the images in DIR by digest. The time of all files is SOURCE_DATE_EPOCH.
set -euo pipefail
out=$(cd "${1:?usage: installation.sh DIR VERSION}" && pwd)
version=${2:?usage: installation.sh DIR VERSION}
cd "$(dirname "$0")/../.."
tool() { go tool -modfile=hack/tools/go.mod "$@"; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cp -R charts config "$dir"
go run ./hack/release pin "$out" "$version" "$dir"
# Helm keeps the times of files.
find "$dir" -exec touch -d "@${SOURCE_DATE_EPOCH:?}" {} +
for chart in "$dir"/charts/*/Chart.yaml; do
	tool helm package "$(dirname "$chart")" --version "$version" --app-version "$version" --destination "$out" >/dev/null
done
tool kustomize build "$dir/config/default" >"$out/install.yaml"
tool kustomize build "$dir/config/operator/roles" >"$out/roles.yaml"
rm -rf "$dir/config"/{gitops,monitoring,rbac,samples}
find "$dir/config" -name '*.go' -delete
hack/release/archive.sh "$dir/config" "$out/nestor-kustomize_$version.tar.gz" "nestor-kustomize_$version"
go run ./hack/release olm "$out" "$version" "$dir"
hack/release/archive.sh "$out/olm" "$out/nestor-olm_$version.tar.gz" "nestor-olm_$version"
rm -rf "$out/olm"
