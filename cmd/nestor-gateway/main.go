// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Command nestor-gateway serves runs over other protocols, receives webhooks, and serves the web page.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nestor-dev/nestor/internal/program"
	"github.com/nestor-dev/nestor/internal/public"
	"github.com/nestor-dev/nestor/internal/server"
)

const usage = `nestor-gateway serves runs over the OpenAI API, A2A, MCP and AG-UI, receives webhooks,
and serves the web page. It does everything with the tokens of its callers; webhooks
and registrations for push notifications go to the operator.

  nestor-gateway --gateway-bind-address :8444 --operator-url https://nestor-operator.nestor-system.svc

The operator's namespace comes from the environment variable POD_NAMESPACE (default
nestor-system).

Flags:
`

func main() {
	program.Main("nestor-gateway", run)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var o options
	set := flag.NewFlagSet("nestor-gateway", flag.ContinueOnError)
	o.register(set)
	if run, err := program.Parse(set, usage, args, stdout); err != nil || !run {
		return err
	}
	if err := o.SetLogger(stderr); err != nil {
		return err
	}
	served, err := o.complete()
	if err != nil {
		return err
	}
	return public.Run(ctx, served)
}

// options are the flags. Flags that need no parsing are set directly in the options of the servers.
type options struct {
	program.Flags
	public          public.Options
	metrics         string
	metricsInsecure bool
	insecure        bool
	scopes          string
}

func (o *options) register(set *flag.FlagSet) {
	gateway, page := &o.public.Gateway, &o.public.Page
	o.Register(set)
	set.StringVar(&o.metrics, "metrics-bind-address", "0", "`address` for Prometheus metrics, such as :8080; 0 turns them off")
	set.BoolVar(&o.metricsInsecure, "metrics-insecure", false, "serve the metrics without TLS to everyone who can connect; by default readers need a token of the cluster that may get the path /metrics")
	set.StringVar(&o.public.ProbeAddress, "health-probe-bind-address", "0", "`address` for /healthz and /readyz, such as :8081; 0 turns them off")
	set.StringVar(&gateway.Address, "gateway-bind-address", "0", "`address` where runs are served over other protocols, such as :8444; callers use their own tokens; 0 turns it off")
	set.StringVar(&gateway.URL, "gateway-url", "", "`URL` where programs reach the gateway, such as https://agents.example.com; the web page shows it to people who connect a program")
	set.StringVar(&gateway.CertFile, "gateway-cert-file", "", "`file` with the certificate of the gateway, which is read again when it changes")
	set.StringVar(&gateway.KeyFile, "gateway-key-file", "", "`file` with its key")
	set.BoolVar(&o.insecure, "gateway-insecure", false, "serve the gateway without TLS, on a loopback address: on your own machine, or behind a proxy in its own pod")
	set.IntVar(&gateway.Streams.Total, "gateway-max-requests", 1000, "maximum number of requests that the gateway handles at once; more are rejected with status 429; 0 means no limit")
	set.IntVar(&gateway.Streams.PerUser, "gateway-max-requests-per-user", 100, "maximum number of requests of one user that the gateway handles at once; 0 means no limit")
	set.StringVar(&gateway.Operator.URL, "operator-url", "", "`URL` of the operator's endpoint for the gateway (its --intake-bind-address), to which webhooks and registrations for push notifications go")
	set.StringVar(&gateway.Operator.CAFile, "operator-ca-file", "", "`file` with the certificate authorities of the operator's endpoint")
	set.StringVar(&gateway.Operator.TokenFile, "operator-token-file", "", "`file` with a token of the gateway's service account for the audience nestor-operator, which is read again when it changes")
	set.StringVar(&page.Address, "web-bind-address", "0", "`address` where the web page is served, such as :8082, behind a proxy that terminates TLS; people sign in with their own tokens; 0 turns it off")
	set.StringVar(&page.URL, "web-url", "", "`URL` where people reach the web page, such as https://nestor.example.com; the gateway links to it where a person has to decide")
	set.StringVar(&page.OIDC.Issuer, "web-oidc-issuer", "", "`URL` of an OpenID Connect issuer that the API server trusts; people sign in there (default: they have only tokens)")
	set.StringVar(&page.OIDC.ClientID, "web-oidc-client-id", "", "`ID` of the page's client at the issuer, which is an audience that the API server accepts")
	set.StringVar(&page.OIDC.ClientSecretFile, "web-oidc-client-secret-file", "", "`file` with the client's secret, which is read on each use (default: a public client)")
	set.StringVar(&page.OIDC.CAFile, "web-oidc-ca-file", "", "`file` with the certificate authorities of the issuer (default: those of the system)")
	set.StringVar(&o.scopes, "web-oidc-scopes", "openid,email,profile", "comma-separated `list` of scopes; some issuers need groups and offline_access")
	set.StringVar(&page.OIDC.KeysFile, "web-session-keys-file", "", "`file` with the keys that encrypt sessions, one per line, the same for all replicas: the first encrypts, all decrypt; it is read on each use")
	set.DurationVar(&page.OIDC.SessionLength, "web-session-length", 12*time.Hour, "time after which people who signed in at the issuer have to sign in again")
	set.IntVar(&page.Streams.Total, "web-max-streams", 256, "maximum number of open web pages; more are rejected with status 429; 0 means no limit")
	set.IntVar(&page.Streams.PerUser, "web-max-streams-per-user", 16, "maximum number of open web pages per user; 0 means no limit")
}

// complete checks the flags and parses them into the options of the servers.
func (o *options) complete() (_ public.Options, err error) {
	served := o.public
	gateway := served.Gateway
	switch {
	case (gateway.CertFile == "") != (gateway.KeyFile == ""):
		return served, errors.New("--gateway-cert-file and --gateway-key-file go together: set both, or none")
	case o.insecure && gateway.CertFile != "":
		return served, errors.New("--gateway-insecure serves without TLS: omit --gateway-cert-file")
	case gateway.Address == "0" && served.Page.Address == "0":
		return served, errors.New("there is nothing to serve: set --gateway-bind-address or --web-bind-address")
	case gateway.Address != "0" && !o.insecure && gateway.CertFile == "":
		return served, errors.New("callers send their tokens to the gateway: set --gateway-cert-file and --gateway-key-file")
	case gateway.Address != "0" && (gateway.Operator.URL == "" || gateway.Operator.TokenFile == ""):
		return served, errors.New("webhooks and push notifications need the operator: set --operator-url and --operator-token-file")
	}
	if served.Page.OIDC, err = o.oidc(); err != nil {
		return served, err
	}
	served.OperatorNamespace, served.Metrics = program.OperatorNamespace(), program.Metrics(o.metrics, o.metricsInsecure)
	served.Config, err = program.ClientConfig(o.Kubeconfig, "nestor-gateway")
	return served, err
}

// oidc checks the flags for signing in at an issuer.
func (o *options) oidc() (server.OIDC, error) {
	oidc := o.public.Page.OIDC
	if oidc.Issuer == "" {
		return oidc, nil
	}
	oidc.PageURL, oidc.Scopes = strings.TrimSuffix(o.public.Page.URL, "/"), strings.Split(o.scopes, ",")
	switch {
	case oidc.ClientID == "" || oidc.KeysFile == "":
		return oidc, errors.New("--web-oidc-issuer needs a client and keys for sessions: set --web-oidc-client-id and --web-session-keys-file")
	case !strings.HasPrefix(oidc.PageURL, "https://"):
		return oidc, errors.New("the issuer sends people back to the page: set --web-url to an https URL")
	case !strings.HasPrefix(oidc.Issuer, "https://"):
		return oidc, errors.New("--web-oidc-issuer must be an https URL, as for the API server")
	case !slices.Contains(oidc.Scopes, "openid"):
		return oidc, errors.New("--web-oidc-scopes must contain openid, without which there is no ID token")
	case oidc.SessionLength <= 0:
		return oidc, errors.New("--web-session-length must be positive")
	}
	return oidc, nil
}
