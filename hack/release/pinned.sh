#!/usr/bin/env bash
# pinned.sh DOCKERFILE: fails if a base image is not pinned by its digest, so that a release cannot contain an image that was replaced under
# the same tag. Renovate (docker:pinDigests in renovate.json) writes and updates the digests.
set -euo pipefail
file=${1:?usage: pinned.sh DOCKERFILE}
awk -v file="$file" '
	toupper($1) == "FROM" {
		i = 2
		while ($i ~ /^--/) i++
		if ($i != "scratch" && !($i in stages) && $i !~ /@sha256:[0-9a-f]+$/) {
			printf "%s:%d: the base image %s is not pinned: write %s@sha256:DIGEST, or merge the change of Renovate that does\n", file, NR, $i, $i
			bad = 1
		}
		if (toupper($(i + 1)) == "AS") stages[$(i + 2)] = 1
	}
	END { exit bad }
' "$file" >&2
