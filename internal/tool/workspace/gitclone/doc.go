// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package gitclone fills a workspace from a git repository, once.
//
// It uses the git program: the workspace's image has it anyway for bash, and it supports every protocol without
// adding dependencies to this module. Credentials come from files (the keys of a Kubernetes Secret of type basic-auth
// or ssh-auth) and reach git through a credential helper and a private copy of the key: never through a URL, an
// argument, the repository's configuration or an error message.
//
// Only the server of the URL gets them: the helper answers for that scheme, host and port alone, redirects are not
// followed if there are credentials, submodules are not fetched, and ssh connects only to servers in known_hosts.
package gitclone
