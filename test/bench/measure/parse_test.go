// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProcessorTimeOfOddName(t *testing.T) {
	const stat = "42 (a b) c) S 1 42 42 0 -1 4194304 100 0 0 0 250 50 9 9 20 0 7 0 1000 1 1 1"
	seconds, err := parseStat(stat)
	if err != nil || seconds != 3 {
		t.Errorf("%v seconds (%v), want 3", seconds, err)
	}
	for _, bad := range []string{"", "42 (x) S", "42 (x) S 1 42 42 0 -1 4194304 100 0 0 0 x 50 9"} {
		if _, err := parseStat(bad); err == nil {
			t.Errorf("%q was taken for a stat file", bad)
		}
	}
}

func TestProcessorTimeOfTheMachine(t *testing.T) {
	seconds, err := parseMachine("cpu  100 100 100 5000 7000 50 50 100 33 33\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
	if err != nil || seconds != 5 {
		t.Errorf("%v seconds (%v), want 5", seconds, err)
	}
	for _, bad := range []string{"", "cpu 1 2 3", "cpu0 1 2 3 4 5 6 7 8"} {
		if _, err := parseMachine(bad); err == nil {
			t.Errorf("%q was taken for /proc/stat", bad)
		}
	}
}

func TestMemory(t *testing.T) {
	m, err := parseMemory("Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n")
	if err != nil || m != (Memory{Now: 1 << 20, Peak: 2 << 20}) {
		t.Errorf("%+v (%v)", m, err)
	}
	if _, err := parseMemory("Name:\tzombie\n"); err == nil {
		t.Error("memory was parsed from a status without any")
	}
}

func TestWritesOfNestorAreCounted(t *testing.T) {
	const metrics = `# HELP apiserver_request_total Counter of apiserver requests.
apiserver_request_total{code="200",component="apiserver",dry_run="",group="nestor.dev",resource="subagents",scope="resource",subresource="status",verb="PUT",version="v1beta1"} 7
apiserver_request_total{code="409",component="apiserver",dry_run="",group="nestor.dev",resource="subagents",scope="resource",subresource="status",verb="PUT",version="v1beta1"} 2
apiserver_request_total{code="201",component="apiserver",dry_run="",group="",resource="events",scope="resource",subresource="",verb="POST",version="v1"} 3
apiserver_request_total{code="200",component="apiserver",dry_run="",group="nestor.dev",resource="subagents",scope="resource",subresource="",verb="GET",version="v1beta1"} 99
apiserver_request_total{code="200",component="apiserver",dry_run="",group="coordination.k8s.io",resource="leases",scope="resource",subresource="",verb="PUT",version="v1"} 50
apiserver_storage_size_bytes{storage_cluster_id="etcd-0"} 4.2e+06
apiserver_request_total 1
`
	got, err := parseMetrics(strings.NewReader(metrics))
	if err != nil {
		t.Fatal(err)
	}
	want := APIServer{
		Writes:       map[string]int64{"PUT subagents/status": 7, "PUT subagents/status 409": 2, "POST events": 3},
		StorageBytes: 4_200_000,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProcessorTimeOfAFamily(t *testing.T) {
	const stat = "42 (a b) c) S 7 42 42 0 -1 4194304 100 0 0 0 250 50 30 20 20 0 7 0 1000 1 1 1"
	if parent, ended := parentPID(stat), endedChildren(stat); parent != 7 || ended != 0.5 {
		t.Errorf("parent %d and %v s of children that have ended, want 7 and 0.5 s", parent, ended)
	}
	own, err := CPUSeconds(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if all, err := processTreeCPU(os.Getpid()); err != nil || all < own {
		t.Errorf("%v s of this process and its children (%v), less than its own %v s", all, err, own)
	}
}
