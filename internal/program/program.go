// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package program is what Nestor's programs in a cluster have in common: flags for the log and the API server, and protected metrics.
package program

import (
	"cmp"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/nestor-dev/nestor/internal/version"
)

type Flags struct {
	Kubeconfig          string
	logLevel, logFormat string
}

func (f *Flags) Register(set *flag.FlagSet) {
	set.StringVar(&f.Kubeconfig, "kubeconfig", "", "kubeconfig `file` of the cluster (default: the pod's own, or $KUBECONFIG)")
	set.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	set.StringVar(&f.logFormat, "log-format", "text", "text or json")
}

// SetLogger makes all packages write their log to out.
func (f *Flags) SetLogger(out io.Writer) error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return fmt.Errorf("--log-level must be debug, info, warn or error, not %q", f.logLevel)
	}
	options := &slog.HandlerOptions{Level: level}
	var handler slog.Handler
	switch f.logFormat {
	case "text":
		handler = slog.NewTextHandler(out, options)
	case "json":
		handler = slog.NewJSONHandler(out, options)
	default:
		return fmt.Errorf("--log-format must be text or json, not %q", f.logFormat)
	}
	logger := logr.FromSlogHandler(handler)
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	return nil
}

// ClientConfig reads a kubeconfig, or the pod's own credentials.
func ClientConfig(kubeconfig, name string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.UserAgent = name + "/" + version.String()
	// The API server is near and its CPU is scarce: with compression it would compress every event of a watch.
	config.DisableCompression = true
	return config, nil
}

func OperatorNamespace() string { return cmp.Or(os.Getenv("POD_NAMESPACE"), "nestor-system") }

// Metrics returns the options of the metrics; the address "0" turns them off. Their readers need a token that may get the path /metrics, unless
// they are insecure. The certificate is not checked by anyone, so it is created at each start.
func Metrics(address string, insecure bool) metricsserver.Options {
	options := metricsserver.Options{BindAddress: cmp.Or(address, "0")}
	if !insecure {
		options.SecureServing, options.FilterProvider = true, filters.WithAuthenticationAndAuthorization
		options.TLSOpts = []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }}
	}
	return options
}
