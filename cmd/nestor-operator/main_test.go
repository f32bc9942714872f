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
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/nestor-dev/nestor/internal/localcluster"
)

func TestWrongUseIsExplained(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"an argument":     {[]string{"run"}, `unexpected argument "run"`},
		"an unknown flag": {[]string{"--frobnicate"}, "frobnicate"},
		"a log level":     {[]string{"--log-level", "loud"}, "--log-level must be debug, info, warn or error"},
		"a log format":    {[]string{"--log-format", "xml"}, "--log-format must be text or json"},
		"a label":         {[]string{"--operator-labels", "nestor"}, "--operator-labels must be name=value"},
		"no cluster":      {[]string{"--kubeconfig", "no-such-file"}, "read the kubeconfig"},
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
	probes := freeAddress(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{
			"--kubeconfig", cluster.Kubeconfig, "--ledger", "sqlite:" + filepath.Join(t.TempDir(), "ledger.db"), "--health-probe-bind-address", probes,
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
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the operator ended with %v", err)
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
