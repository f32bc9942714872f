// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Command coredns is CoreDNS with only the plugins for a cluster's DNS. The full program has the cloud providers'
// libraries, which dominate its build time.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
)

// init sets the order of the plugins; CoreDNS rejects a Corefile that names another one.
func init() {
	dnsserver.Directives = []string{"health", "ready", "errors", "cache", "kubernetes"}
}

func main() { coremain.Run() }
