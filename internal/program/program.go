// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package program is what Nestor's programs in a cluster have in common: flags for the log and the API server, and protected metrics.
package program

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
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

// Main runs a program until it is signalled, and ends the process with code 1 if it fails.
func Main(name string, run func(ctx context.Context, args []string, stdout, stderr io.Writer) error) {
	if err := run(ctrl.SetupSignalHandler(), os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

// Parse parses the flags of a program, which has no arguments. It reports false after it has printed the version.
func Parse(set *flag.FlagSet, usage string, args []string, stdout io.Writer) (bool, error) {
	set.Usage = func() {
		fmt.Fprint(stdout, usage)
		set.PrintDefaults()
	}
	showVersion := set.Bool("version", false, "print the version and exit")
	if err := ParseCommand(set, args, stdout); err != nil || !*showVersion {
		return err == nil, err
	}
	fmt.Fprintln(stdout, set.Name(), version.String())
	return false, nil
}

// ParseCommand parses the flags of a command, which has no arguments.
func ParseCommand(set *flag.FlagSet, args []string, out io.Writer) error {
	set.SetOutput(out)
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: see %s --help", set.Arg(0), set.Name())
	}
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
