// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestWrongUseIsExplained(t *testing.T) {
	operator := []string{"--operator-url", "https://operator", "--operator-token-file", "token"}
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"an argument":        {[]string{"run"}, `unexpected argument "run"`},
		"a log level":        {[]string{"--log-level", "loud"}, "--log-level must be debug, info, warn or error"},
		"nothing":            {nil, "nothing to serve"},
		"half a certificate": {[]string{"--gateway-bind-address", ":1", "--gateway-cert-file", "tls.crt"}, "go together"},
		"two ways":           {[]string{"--gateway-insecure", "--gateway-cert-file", "tls.crt", "--gateway-key-file", "tls.key"}, "omit --gateway-cert-file"},
		"no certificate":     {append([]string{"--gateway-bind-address", ":1"}, operator...), "set --gateway-cert-file"},
		"no operator":        {[]string{"--gateway-bind-address", ":1", "--gateway-insecure"}, "set --operator-url"},
		"no client":          {oidcFlags("--web-oidc-client-id", ""), "set --web-oidc-client-id"},
		"no session keys":    {oidcFlags("--web-session-keys-file", ""), "--web-session-keys-file"},
		"no page URL":        {oidcFlags("--web-url", ""), "set --web-url"},
		"a plain issuer":     {oidcFlags("--web-oidc-issuer", "http://login.example.com"), "must be an https URL"},
		"no ID token":        {oidcFlags("--web-oidc-scopes", "email"), "must contain openid"},
		"no session":         {oidcFlags("--web-session-length", "0s"), "must be positive"},
		"no cluster":         {[]string{"--web-bind-address", ":1", "--kubeconfig", "no-such-file"}, "read the kubeconfig"},
	} {
		err := run(t.Context(), tc.args, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, tc.want)
		}
	}
	if err := run(t.Context(), []string{"--help"}, io.Discard, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("--help: %v", err)
	}
	var out strings.Builder
	if err := run(t.Context(), []string{"--version"}, &out, io.Discard); err != nil || !strings.HasPrefix(out.String(), "nestor-gateway ") {
		t.Errorf("--version: %q (%v)", out.String(), err)
	}
}

// oidcFlags returns the flags of a page with an issuer, with one changed.
func oidcFlags(changed, value string) []string {
	flags := map[string]string{
		"--web-bind-address": ":1", "--web-url": "https://nestor.example.com", "--web-oidc-issuer": "https://login.example.com", "--web-oidc-client-id": "nestor",
		"--web-session-keys-file": "keys",
	}
	flags[changed] = value
	var args []string
	for name, value := range flags {
		args = append(args, name, value)
	}
	return args
}

func TestChartSetsKnownFlags(t *testing.T) {
	template, err := os.ReadFile(filepath.Join("..", "..", "charts", "nestor", "templates", "gateway.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	set := flag.NewFlagSet("", flag.ContinueOnError)
	new(options).register(set)
	found := regexp.MustCompile(`(?m)^ *- --([a-z-]+)`).FindAllSubmatch(template, -1)
	if len(found) < 10 {
		t.Fatalf("the chart sets only %d flags", len(found))
	}
	for _, match := range found {
		if set.Lookup(string(match[1])) == nil {
			t.Errorf("the chart sets --%s, which the gateway does not know", match[1])
		}
	}
}
