// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "runtime"

type image struct {
	name, description string
	// command is the package of Nestor's module that becomes the entry point; nodeBinary is a program of the test
	// cluster instead.
	command, nodeBinary string
	// packages are the Debian packages of the image; none means an empty base.
	packages []string
	// files are further files, by path.
	files map[string]file
	// entrypoint is the entry point of the image, if it is not the program.
	entrypoint []string
	env        []string
	// testOnly images are not part of a release.
	testOnly bool
}

// file is a file that is not part of a package.
type file struct {
	content string
	mode    int64
}

// user is the unprivileged user of all images.
const user = "65532:65532"

// shellPackages are the usual Unix tools for agents' commands. The certificates come from certificates.go, so that
// all images trust the same ones.
var shellPackages = []string{
	"bash", "coreutils", "diffutils", "findutils", "grep", "gzip", "mawk", "patch", "procps", "sed", "tar", "git", "openssh-client",
}

var images = []image{
	{name: "nestor-operator", description: "Nestor's controllers", command: "./cmd/nestor-operator"},
	{name: "nestor-gateway", description: "Nestor's doors, webhooks and web page", command: "./cmd/nestor-gateway"},
	{name: "nestor-scripted-model", description: "A model that plays scripts, for trying Nestor without a key", command: "./cmd/nestor-scripted-model"},
	{
		name: "nestor-workspace", description: "The files that agents work on, with a shell, git and ssh", command: "./cmd/nestor-workspace",
		packages: shellPackages, env: []string{"LANG=C.UTF-8"},
	},
	{name: "pause", description: "Holds a pod's namespaces", nodeBinary: "pause", testOnly: true},
	{name: "coredns", description: "Name resolution of a test cluster", nodeBinary: "coredns", testOnly: true},
	{
		name: "git-server", description: "A git repository for tests, served over HTTP", command: "./test/e2e/gitserver", packages: []string{"bash", "coreutils", "git"}, testOnly: true,
		env: []string{"LANG=C.UTF-8"},
	},
	{
		name: "postgres", description: "PostgreSQL for tests: everyone may connect", packages: []string{"bash", "coreutils", "postgresql-17"}, testOnly: true,
		files:      map[string]file{"usr/bin/run-postgres": {content: runPostgres, mode: 0o755}},
		entrypoint: []string{"/usr/bin/run-postgres"}, env: []string{"LANG=C.UTF-8"},
	},
}

// runPostgres creates a database in /data, which is a volume, and serves it.
const runPostgres = `#!/bin/bash
set -eu
bin=/usr/lib/postgresql/17/bin
if [ ! -e /data/pg/PG_VERSION ]; then
	$bin/initdb -D /data/pg -U nestor --auth=trust --no-sync --locale=C.UTF-8 >/dev/null
	echo 'host all all all trust' >>/data/pg/pg_hba.conf
	$bin/pg_ctl -D /data/pg -o "-c listen_addresses= -k /tmp" -w start >/dev/null
	$bin/createdb -h /tmp -U nestor nestor
	$bin/pg_ctl -D /data/pg -w stop >/dev/null
fi
exec $bin/postgres -D /data/pg -c listen_addresses='*' -k /tmp -c max_connections=200
`

func defaultPlatform() string { return "linux/" + runtime.GOARCH }
