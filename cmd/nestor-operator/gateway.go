// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"net/netip"

	"github.com/nestor-dev/nestor/internal/operator"
)

func registerGateway(g *operator.Gateway, set *flag.FlagSet) {
	set.StringVar(&g.Address, "intake-bind-address", "0", "`address` of the endpoint to which nestor-gateway sends webhooks and registrations for push notifications, such as :9444, with the certificate of the history API; 0 turns it off")
	set.BoolVar(&g.Insecure, "intake-insecure", false, "serve this endpoint without TLS, on a loopback address: for an operator on your own machine")
	set.StringVar(&g.CertSecret, "gateway-cert-secret", "", "`name` of the Secret in the operator's namespace for the gateway's certificate, for NAME.NAMESPACE.svc of its Service, which the operator creates and renews (default: none)")
	set.StringVar(&g.PageURL, "web-url", "", "`URL` where people reach the web page, such as https://nestor.example.com; notifications link to it")
	set.Func("push-networks", "comma-separated `list` of private networks, such as 10.1.0.0/16, where receivers of notifications may be; others must be on the internet", func(text string) (err error) {
		g.PushNetworks, err = parseNetworks(text)
		return err
	})
}

func parseNetworks(text string) ([]netip.Prefix, error) {
	var networks []netip.Prefix
	for _, part := range split(text) {
		network, err := netip.ParsePrefix(part)
		if err != nil {
			return nil, fmt.Errorf("%q is not a network: write it as 10.1.0.0/16", part)
		}
		networks = append(networks, network)
	}
	return networks, nil
}
