#!/usr/bin/env bash
# push-charts.sh DIRECTORY REPOSITORY [FLAG...]: pushes the charts in a directory to REPOSITORY/charts, an OCI registry, with the credentials of docker login.
# The flags are those of helm push, such as --plain-http.
set -euo pipefail
directory=$(cd "${1:?usage: push-charts.sh DIRECTORY REPOSITORY [FLAG...]}" && pwd)
repository=${2:?usage: push-charts.sh DIRECTORY REPOSITORY [FLAG...]}
shift 2
cd "$(dirname "$0")/../.."
for chart in "$directory"/*.tgz; do
	[ -e "$chart" ] || { echo "push-charts.sh: there are no charts in $directory" >&2; exit 1; }
	go tool -modfile=hack/tools/go.mod helm push "$chart" "oci://$repository/charts" "$@"
done
