#!/usr/bin/env bash
# archive.sh DIRECTORY OUT.tar.gz [PREFIX]: archives the files of a directory, below a prefix in the archive. The same files give the same archive: it has no
# owners, and all times are SOURCE_DATE_EPOCH.
set -euo pipefail
directory=${1:?usage: archive.sh DIRECTORY OUT.tar.gz [PREFIX]}
out=${2:?usage: archive.sh DIRECTORY OUT.tar.gz [PREFIX]}
prefix=${3:+$3/}
tar --sort=name --mtime="@${SOURCE_DATE_EPOCH:?}" --owner=0 --group=0 --numeric-owner --mode=u+rw,go=rX --exclude=.gitkeep --transform "s|^\./|$prefix|;s|^\.\$|${prefix:-.}|" -C "$directory" -c . |
	gzip -n >"$out"
