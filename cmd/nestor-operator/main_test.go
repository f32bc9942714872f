// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	certutil "k8s.io/client-go/util/cert"

	historyv1alpha1 "github.com/nestor-dev/nestor/api/history/v1alpha1"
	"github.com/nestor-dev/nestor/internal/localcluster"
)

func TestWrongUseIsExplained(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"an argument":        {[]string{"run"}, `unexpected argument "run"`},
		"an unknown flag":    {[]string{"--frobnicate"}, "frobnicate"},
		"a log level":        {[]string{"--log-level", "loud"}, "--log-level must be debug, info, warn or error"},
		"a log format":       {[]string{"--log-format", "xml"}, "--log-format must be text or json"},
		"half a certificate": {[]string{"--kubeconfig", "no-such-file", "--history-cert-file", "tls.crt"}, "go together"},
		"two certificates":   {[]string{"--kubeconfig", "no-such-file", "--history-cert-file", "tls.crt", "--history-key-file", "tls.key", "--history-cert-secret", "x"}, "set one of them"},
		"no service":         {[]string{"--kubeconfig", "no-such-file", "--history-service", ""}, "need a name"},
		"a label":            {[]string{"--operator-labels", "nestor"}, "--operator-labels must be name=value"},
		"no cluster":         {[]string{"--kubeconfig", "no-such-file"}, "read the kubeconfig"},
	} {
		t.Run(name, func(t *testing.T) {
			err := run(t.Context(), tc.args, io.Discard, io.Discard)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v: %v, want an error with %q", tc.args, err, tc.want)
			}
		})
	}
	if err := run(t.Context(), []string{"--help"}, io.Discard, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("--help: %v", err)
	}
	var out strings.Builder
	if err := run(t.Context(), []string{"--version"}, &out, io.Discard); err != nil || !strings.HasPrefix(out.String(), "nestor-operator ") {
		t.Errorf("--version: %q (%v)", out.String(), err)
	}
}

func TestTheOperatorIsReadyAndStops(t *testing.T) {
	cluster, err := localcluster.Start(t.Context(), localcluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	probes, served := freeAddress(t), freeAddress(t)
	certificate, key := historyCertificate(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{
			"--kubeconfig", cluster.Kubeconfig, "--ledger", "sqlite:" + filepath.Join(t.TempDir(), "ledger.db"), "--health-probe-bind-address", probes,
			"--history-bind-address", served, "--history-cert-file", certificate, "--history-key-file", key,
			"--leader-elect", // the history is served whoever leads
		}, io.Discard, io.Discard)
	}()
	for _, path := range []string{"healthz", "readyz"} {
		err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s/%s", probes, path), nil)
			if err != nil {
				return false, err
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				return false, nil //nolint:nilerr // it is not there yet
			}
			return response.StatusCode == http.StatusOK, response.Body.Close()
		})
		if err != nil {
			t.Errorf("/%s never said ok", path)
		}
	}
	expectHistory(t, cluster, served, certificate)
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the operator ended with %v", err)
	}
}

// historyCertificate makes a certificate as an installation would give the operator.
func historyCertificate(t *testing.T) (certificate, key string) {
	t.Helper()
	certPEM, keyPEM, err := certutil.GenerateSelfSignedCertKey("nestor-history.nestor-system.svc", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certificate, key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	if err := errors.Join(os.WriteFile(certificate, certPEM, 0o600), os.WriteFile(key, keyPEM, 0o600)); err != nil {
		t.Fatal(err)
	}
	return certificate, key
}

// expectHistory registers the operator's history API and asks for it with kubectl.
func expectHistory(t *testing.T, cluster *localcluster.Cluster, address, certificate string) {
	t.Helper()
	bundle, err := os.ReadFile(certificate)
	if err != nil {
		t.Fatal(err)
	}
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	err = cluster.ServeAPI(t.Context(), localcluster.API{
		GroupVersion: historyv1alpha1.GroupVersion, Namespace: "nestor-system", Service: "nestor-history", Port: int32(port), CABundle: bundle,
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(cluster.Kubectl, "--kubeconfig", cluster.Kubeconfig, "get", "transcripts", "-A").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "No resources found") {
		t.Errorf("kubectl get transcripts: %v: %s", err, out)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	}()
	return listener.Addr().String()
}
