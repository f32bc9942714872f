// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localcluster_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/nestor-dev/nestor/internal/localcluster"
	"github.com/nestor-dev/nestor/test/patience"
)

// killedCallerVariable makes this test binary act as a caller that is killed, in the given state directory.
const killedCallerVariable = "NESTOR_TEST_LOCALCLUSTER_VICTIM"

func TestMain(m *testing.M) {
	if dir, victim := os.LookupEnv(killedCallerVariable); victim {
		if _, err := localcluster.Start(context.Background(), localcluster.Options{StateDir: dir}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println("started")
		select {}
	}
	os.Exit(m.Run())
}

func TestCluster(t *testing.T) {
	t.Parallel()
	cluster, err := localcluster.Start(t.Context(), localcluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("has Nestor's kinds", func(t *testing.T) {
		out, err := exec.Command(cluster.Kubectl, "--kubeconfig", cluster.Kubeconfig, "get", "crd", "-o", "name").CombinedOutput()
		if err != nil || strings.Count(string(out), ".nestor.dev") != 11 {
			t.Errorf("kubectl get crd: %v, want Nestor's eleven:\n%s", err, out)
		}
	})
	t.Run("keeps its address when the API server restarts", func(t *testing.T) { expectSameAddress(t, cluster) })
	t.Run("leaves nothing behind", func(t *testing.T) {
		stateDir := filepath.Dir(cluster.Kubeconfig)
		pids := recordedPIDs(t, stateDir)
		if err := cluster.Stop(); err != nil {
			t.Fatal(err)
		}
		expectGone(t, pids)
		if _, err := os.Stat(stateDir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the temporary state directory is still there (%v)", err)
		}
	})
}

// expectSameAddress restarts the API server under a client.
func expectSameAddress(t *testing.T, cluster *localcluster.Cluster) {
	t.Helper()
	clients, err := kubernetes.NewForConfig(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	namespaces := clients.CoreV1().Namespaces()
	existing := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}
	if _, err := namespaces.Create(t.Context(), existing, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	err = cluster.RestartAPIServer(t.Context(), func() {
		if _, err := namespaces.Get(t.Context(), "kept", metav1.GetOptions{}); err == nil {
			t.Error("the API server answers in the middle of its restart")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := namespaces.Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
		t.Errorf("the same client does not find the earlier object: %v", err)
	}
}

func TestStateSurvivesARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, round := range []string{"first", "second"} {
		cluster, err := localcluster.Start(t.Context(), localcluster.Options{StateDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		client := kubernetes.NewForConfigOrDie(cluster.Config)
		_, err = client.CoreV1().Namespaces().Create(t.Context(),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}, metav1.CreateOptions{})
		if round == "first" && err != nil {
			t.Errorf("create the namespace: %v", err)
		}
		if _, err := localcluster.Start(t.Context(), localcluster.Options{StateDir: dir}); err == nil || !strings.Contains(err.Error(), "another cluster runs in") {
			t.Errorf("a second Start in the same directory returned %v", err)
		}
		if round == "second" && !apierrors.IsAlreadyExists(err) {
			t.Errorf("the namespace of the first run is gone (%v)", err)
		}
		if err := cluster.Stop(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNothingOutlivesAKilledCaller(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	victim := exec.Command(os.Args[0])
	victim.Env = append(os.Environ(), killedCallerVariable+"="+dir)
	victim.Stderr = os.Stderr
	stdout, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(stdout).ReadString('\n'); line != "started\n" {
		t.Fatalf("the caller said %q, want started", line)
	}
	pids := recordedPIDs(t, dir)
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait() // it was killed
	expectGone(t, pids)
}

func TestWatchReportsADeadProcess(t *testing.T) {
	t.Parallel()
	cluster, err := localcluster.Start(t.Context(), localcluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pids := recordedPIDs(t, filepath.Dir(cluster.Kubeconfig))
	defer func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
		expectGone(t, pids)
	}()
	quiet, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := cluster.Watch(quiet); err != nil {
		t.Fatalf("Watch while everything runs: %v", err)
	}
	if err := syscall.Kill(pids[1], syscall.SIGKILL); err != nil { // etcd, by the order of the names
		t.Fatal(err)
	}
	loud, cancel := context.WithTimeout(t.Context(), patience.Limit())
	defer cancel()
	if err := cluster.Watch(loud); err == nil || !strings.Contains(err.Error(), "etcd has ended") {
		t.Errorf("Watch: %v, want that etcd has ended", err)
	}
}

func TestCancelledStartRemovesEverything(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	dir := t.TempDir()
	_, err := localcluster.Start(ctx, localcluster.Options{StateDir: dir, Progress: func(string) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Start returned %v, want context.Canceled", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "run", "*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestMissingBinariesAreNamed(t *testing.T) {
	t.Parallel()
	_, err := localcluster.Start(t.Context(), localcluster.Options{Assets: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "make control-plane") {
		t.Errorf("Start returned %v, want an error that names the command to run", err)
	}
}

// recordedPIDs waits until the IDs of etcd, the API server and the controllers are recorded.
func recordedPIDs(t *testing.T, stateDir string) []int {
	t.Helper()
	var pids []int
	if !patience.Until(func() bool {
		pids = readPIDs(t, stateDir)
		return len(pids) == 3
	}) {
		t.Fatalf("recorded the processes %v, want three", pids)
	}
	return pids
}

func readPIDs(t *testing.T, stateDir string) []int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(stateDir, "run", "*.pid"))
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func expectGone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		if !patience.Until(func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }) {
			t.Errorf("process %d is still running", pid)
		}
	}
}
