#!/usr/bin/env bash
# vulnerabilities.sh [PACKAGES]: checks the code that the programs call for known vulnerabilities, with govulncheck.
# GOVULNDB is the database: a URL, or file:///DIR for a copy of it. If it is set, the check must be possible. Without it the public
# database is used, and where that cannot be reached the check is skipped with a message.
set -euo pipefail
cd "$(dirname "$0")/.."
database=${GOVULNDB:-https://vuln.go.dev}

reachable() {
	case $database in
	file://*) [ -e "${database#file://}/index/db.json" ] ;;
	*) curl -fsS --max-time 10 -o /dev/null "$database/index/db.json" 2>/dev/null ;;
	esac
}

if ! reachable; then
	if [ -n "${GOVULNDB:-}" ]; then
		echo "vulnerabilities: the database $database cannot be read" >&2
		exit 1
	fi
	echo "vulnerabilities: skipped: the database $database cannot be reached; set GOVULNDB to a mirror, or to file:///DIR with a copy of it"
	exit 0
fi
[ $# -gt 0 ] || set -- ./...
exec go tool -modfile=hack/tools/go.mod govulncheck -db "$database" "$@"
