// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"strings"

	"github.com/nestor-dev/nestor/internal/operator"
)

func registerGateway(g *operator.Gateway, set *flag.FlagSet) {
	set.StringVar(&g.Address, "gateway-bind-address", "0", "`address` where runs are served over other protocols, such as :8444; callers use their own tokens; 0 turns it off")
	set.StringVar(&g.Service, "gateway-service", "nestor-gateway", "`name` of the gateway's Service: the certificate that the operator creates is also for NAME.NAMESPACE.svc")
	set.StringVar(&g.CertFile, "gateway-cert-file", "", "`file` with the certificate of the gateway, instead of the one that the operator creates")
	set.StringVar(&g.KeyFile, "gateway-key-file", "", "`file` with its key")
	set.BoolVar(&g.Insecure, "gateway-insecure", false, "serve the gateway without TLS, on a loopback address: for an operator on your own machine, or behind a proxy in its own pod")
	set.IntVar(&g.Streams.Total, "gateway-max-requests", 1000, "maximum number of requests that the gateway handles at once; more are rejected with status 429; 0 means no limit")
	set.Func("push-networks", "comma-separated `list` of private networks, such as 10.1.0.0/16, where receivers of A2A push notifications may be; others must be on the internet", func(text string) (err error) {
		g.PushNetworks, err = parseNetworks(text)
		return err
	})
	set.IntVar(&g.Streams.PerUser, "gateway-max-requests-per-user", 100, "maximum number of requests of one user that the gateway handles at once; 0 means no limit")
}

// parseNetworks parses a list of networks.
func parseNetworks(text string) ([]netip.Prefix, error) {
	var networks []netip.Prefix
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		network, err := netip.ParsePrefix(part)
		if err != nil {
			return nil, fmt.Errorf("%q is not a network: write it as 10.1.0.0/16", part)
		}
		networks = append(networks, network)
	}
	return networks, nil
}

// checkGateway rejects contradictory flags.
func checkGateway(g operator.Gateway) error {
	if (g.CertFile == "") != (g.KeyFile == "") {
		return errors.New("--gateway-cert-file and --gateway-key-file go together: set both, or none")
	}
	if g.Insecure && g.CertFile != "" {
		return errors.New("--gateway-insecure serves without TLS: omit --gateway-cert-file")
	}
	if g.Service == "" {
		return errors.New("--gateway-service needs a name: omit it to use the default")
	}
	return nil
}
