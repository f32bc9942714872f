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
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	historyv1beta1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/localcluster"
	"github.com/nestor-dev/nestor/test/patience"
	"github.com/nestor-dev/nestor/test/ports"
)

func TestWrongUseIsExplained(t *testing.T) {
	t.Setenv(ledgerVariable, "")
	t.Setenv(addressVariable, "")
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
		"no name":            {[]string{"--kubeconfig", "no-such-file", "--name", ""}, "--name must not be empty"},
		"a label":            {[]string{"--operator-labels", "nestor"}, "--operator-labels must be name=value"},
		"a word to check":    {[]string{"check", "everything"}, "unexpected argument"},
		"a retention":        {[]string{"--history-retention", "-1h"}, "--history-retention must be"},
		"a port alone":       {[]string{"--replica-bind-address", "9443"}, "--replica-bind-address must be an address"},
		"no address to say":  {[]string{"--replica-bind-address", ":9443"}, "$POD_IP does not have one"},
		"no writes":          {[]string{"--kube-api-writes", "-1"}, "--kube-api-writes must be"},
		"a backup of what":   {[]string{"backup"}, "--ledger sqlite:PATH"},
		"a backup elsewhere": {[]string{"backup", "--ledger", "postgres://nestor@db/nestor"}, "use pg_dump"},
		"a restore of what":  {[]string{"restore", "--ledger", "sqlite:x", "FILE"}, `unexpected argument "FILE"`},
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

func TestReplicaAddress(t *testing.T) {
	t.Setenv(addressVariable, "fd00::1")
	for bind, want := range map[string]string{"": "", "0": "", ":9443": "[fd00::1]:9443", "10.0.0.7:9443": "10.0.0.7:9443"} {
		if got, err := replicaAddress(bind); err != nil || got != want {
			t.Errorf("%q: %q (%v), want %q", bind, got, err, want)
		}
	}
}

func isOK(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false // not listening yet
	}
	return response.Body.Close() == nil && response.StatusCode == http.StatusOK
}

func TestOperatorIsReadyAndStops(t *testing.T) {
	cluster, err := localcluster.Start(t.Context(), localcluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	kubectl(t, cluster, "create", "namespace", "nestor-system")
	probes, served := freeAddress(t), freeAddress(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{
			"--kubeconfig", cluster.Kubeconfig, "--ledger", "sqlite:" + filepath.Join(t.TempDir(), "ledger.db"), "--health-probe-bind-address", probes,
			"--history-bind-address", served, "--leader-elect", // the history API does not depend on leadership
		}, io.Discard, io.Discard)
	}()
	for _, path := range []string{"healthz", "readyz"} {
		ready := patience.Until(func() bool { return len(ended) > 0 || isOK(ctx, fmt.Sprintf("http://%s/%s", probes, path)) })
		if len(ended) > 0 {
			t.Fatalf("the operator ended before /%s returned ok: %v", path, <-ended)
		}
		if !ready {
			t.Errorf("/%s never returned ok", path)
		}
	}
	expectHistory(t, cluster, served)
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the operator ended with %v", err)
	}
}

// expectHistory registers the operator's history API and reads from it with kubectl. The CA bundle comes from the operator.
func expectHistory(t *testing.T, cluster *localcluster.Cluster, address string) {
	t.Helper()
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	err = cluster.ServeAPI(t.Context(), localcluster.API{
		GroupVersion: historyv1beta1.GroupVersion, Namespace: "nestor-system", Service: "nestor-history", Port: int32(port),
	})
	if err != nil {
		t.Fatal(err)
	}
	if out := kubectl(t, cluster, "get", "transcripts", "-A"); !strings.Contains(out, "No resources found") {
		t.Errorf("kubectl get transcripts: %s", out)
	}
}

func kubectl(t *testing.T, cluster *localcluster.Cluster, args ...string) string {
	t.Helper()
	out, err := exec.Command(cluster.Kubectl, append([]string{"--kubeconfig", cluster.Kubeconfig}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := ports.Free(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return address
}
