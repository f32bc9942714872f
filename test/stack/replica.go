// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nestor-dev/nestor/test/patience"
	"github.com/nestor-dev/nestor/test/ports"
)

// Replica is a running operator.
type Replica struct {
	*Process
	// Metrics, Probes and Profiles (pprof) are its addresses.
	Metrics, Probes, Profiles string
	// Log is the file with its output.
	Log string
}

// ReplicaOptions configure one operator of a stack. The zero value is what StartOperator uses.
type ReplicaOptions struct {
	// Kubeconfig and LedgerURL replace those of the stack, for an operator that reaches them in another way.
	Kubeconfig, LedgerURL string
	// Flags are additional flags, and Env is added to the environment.
	Flags, Env []string
	// Log is the name of a file in the stack's directory to which the output is appended; empty means operator.log.
	Log string
}

// LaunchReplica runs an operator beside others, without waiting. The stack ends it, unless the caller did.
func (s *Stack) LaunchReplica(ctx context.Context, options ReplicaOptions) (*Replica, error) {
	r := &Replica{Log: s.log.Name()}
	for _, address := range []*string{&r.Metrics, &r.Probes, &r.Profiles} {
		var err error
		if *address, err = ports.Free(ctx); err != nil {
			return nil, err
		}
	}
	log := s.log
	if options.Log != "" {
		r.Log = filepath.Join(s.Dir, options.Log)
		var err error
		if log, err = os.OpenFile(r.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
			return nil, fmt.Errorf("open the log of the operator: %w", err)
		}
		defer func() { _ = log.Close() }() // the operator has a copy
	}
	options.Flags = slices.Concat([]string{
		"--metrics-bind-address", r.Metrics, "--metrics-insecure", "--health-probe-bind-address", r.Probes, "--pprof-bind-address", r.Profiles,
	}, options.Flags)
	var err error
	if r.Process, err = s.runOperator(log, options); err != nil {
		return nil, err
	}
	s.replicas = append(s.replicas, r.Process)
	return r, nil
}

// Shards is the number of shards with FewShards and ShortLeases.
const Shards = 8

// FewShards returns flags of the operator for suites that run beside others: on a PostgreSQL ledger each shard costs a
// write in a quarter of the duration of a Lease.
func FewShards() []string { return []string{"--shards", strconv.Itoa(Shards)} }

// ShortLeases returns flags of the operator with which a successor of one that was killed starts to work after 4 s on a
// PostgreSQL ledger, for suites that kill operators and measure nothing.
func ShortLeases() []string { return append(FewShards(), "--lease-duration", "4s") }

func (s *Stack) runOperator(log *os.File, options ReplicaOptions) (*Process, error) {
	program := filepath.Join(s.options.Programs, "nestor-operator")
	kubeconfig, ledger := s.OperatorKubeconfig, s.LedgerURL
	if options.Kubeconfig != "" {
		kubeconfig = options.Kubeconfig
	}
	if options.LedgerURL != "" {
		ledger = options.LedgerURL
	}
	args := append([]string{"--kubeconfig", kubeconfig, "--ledger", ledger}, options.Flags...)
	// The model is on this machine. An operator of an earlier release does not have the flag, and needs none.
	if help, _ := exec.Command(program, "--help").Output(); bytes.Contains(help, []byte(loopbackFlag)) { //nolint:noctx // it ends at once
		args = append(args, "--"+loopbackFlag)
	}
	args = append(args, s.options.OperatorFlags...)
	// An operator that is killed leaves the home directories of local workspaces. Its memory is measured with its own
	// GOGC, not the tests'.
	return run(log, log, slices.Concat([]string{"TMPDIR=" + s.Dir, "GOGC="}, s.options.Env, options.Env), program, args...)
}

// IsReady reports whether the operator reports that it is ready.
func (r *Replica) IsReady(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.Probes+"/readyz", nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false // not listening yet
	}
	return response.Body.Close() == nil && response.StatusCode == http.StatusOK
}

// startTime is that of an operator with a large ledger.
const startTime = 30 * time.Second

// AwaitReady waits until the operator reports that it is ready.
func (r *Replica) AwaitReady(ctx context.Context) error {
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, startTime+patience.Limit(), true, func(ctx context.Context) (bool, error) {
		select {
		case <-r.Exited():
			return false, errors.New("the operator has ended")
		default:
		}
		return r.IsReady(ctx), nil
	})
	if err != nil {
		return fmt.Errorf("the operator was never ready: %w\n%s", err, readTail(r.Log))
	}
	return nil
}

// KubeconfigFor writes a copy of the operator's kubeconfig with another address (host:port) of the API server, and
// returns its path.
func (s *Stack) KubeconfigFor(name, address string) (string, error) {
	config, err := clientcmd.LoadFromFile(s.OperatorKubeconfig)
	if err != nil {
		return "", fmt.Errorf("read the operator's kubeconfig: %w", err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server = "https://" + address
	}
	path := filepath.Join(s.Dir, name+".kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return "", fmt.Errorf("write the kubeconfig of %s: %w", name, err)
	}
	return path, nil
}
