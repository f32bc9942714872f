// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/clustertest"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/connect"
	"github.com/nestor-dev/nestor/internal/tool/workspace/changes"
	"github.com/nestor-dev/nestor/internal/tool/workspace/pod"
)

func TestForkKeepsFiles(t *testing.T) {
	ended := time.Date(2026, 11, 19, 12, 0, 0, 0, time.UTC)
	commit := strings.Repeat("ab", 20)
	git := func(url string) *v1beta1.Workspace {
		return &v1beta1.Workspace{Git: &v1beta1.GitSource{URL: url, Ref: "main"}}
	}
	saved := func(notKept bool) kept {
		return kept{URL: "https://git.example/a", NotKept: notKept, Summary: changes.Summary{BaseCommit: commit, Diff: "+fixed"}}
	}
	later, earlier := ended.Add(time.Second), ended.Add(-time.Second)
	for name, test := range map[string]struct {
		workspace *v1beta1.Workspace
		source    string
		saved     kept
		at, end   time.Time
		want      ForkFiles
	}{
		"in the middle":            {git("https://git.example/a"), "Git", saved(false), later, time.Time{}, ForkFiles{Commit: commit}},
		"at the end":               {git("https://git.example/a"), "Git", saved(false), later, ended, ForkFiles{Commit: commit, Changes: true}},
		"saved before the end":     {git("https://git.example/a"), "Git", saved(false), earlier, ended, ForkFiles{Commit: commit}},
		"not saved":                {git("https://git.example/a"), "Git", saved(true), later, ended, ForkFiles{Commit: commit}},
		"of another repository":    {git("https://git.example/b"), "Git", saved(false), later, ended, ForkFiles{}},
		"an empty one":             {&v1beta1.Workspace{EmptyDir: &v1beta1.EmptyDirSource{}}, "EmptyDir", kept{}, later, ended, ForkFiles{Changes: true}},
		"an empty one, in between": {&v1beta1.Workspace{EmptyDir: &v1beta1.EmptyDirSource{}}, "EmptyDir", kept{}, later, time.Time{}, ForkFiles{}},
		"an empty one after git":   {&v1beta1.Workspace{EmptyDir: &v1beta1.EmptyDirSource{}}, "Git", saved(false), later, ended, ForkFiles{}},
		"a directory":              {&v1beta1.Workspace{Directory: &v1beta1.DirectorySource{Path: "/src"}}, "Git", saved(false), later, ended, ForkFiles{Local: true}},
		"no workspace":             {nil, "Git", saved(false), later, ended, ForkFiles{}},
		"a run that changed nothing": {git("https://git.example/a"), "Git", kept{URL: "https://git.example/a", Summary: changes.Summary{BaseCommit: commit}}, later, ended,
			ForkFiles{Commit: commit, Changes: true}},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := connect.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "ledger.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = store.Close() }()
			api := clustertest.NewCluster(t)
			w, err := New(Options{Client: api, Live: api, Ledger: store, Image: "example.com/workspace:1",
				Operator: pod.Peer{Namespace: "nestor-system", Labels: map[string]string{"app": "nestor"}}, Now: func() time.Time { return later.Add(time.Hour) }})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = w.Close(t.Context()) }()
			summary, err := json.Marshal(test.saved)
			if err != nil {
				t.Fatal(err)
			}
			record := ledger.Workspace{Owner: "task", Agent: "run", Source: test.source, CapturedAt: test.at, Summary: summary, Archive: []byte("patch")}
			if err := store.KeepWorkspace(t.Context(), record); err != nil {
				t.Fatal(err)
			}
			fork := &v1beta1.AgentTask{ObjectMeta: clustertest.Named("fork", "fork-uid")}
			fork.Spec.Workspace = test.workspace
			for range 2 { // a crash repeats it
				got, err := w.BeginFork(t.Context(), fork, "fork-run", RecordedRun{Agent: "run", EndTime: test.end})
				if err != nil || got != test.want {
					t.Fatalf("the fork begins with %+v, want %+v (%v)", got, test.want, err)
				}
			}
			if test.want.Local || test.workspace == nil {
				return
			}
			location := locationOf(fork, "", test.workspace, "")
			spec, err := w.pods.spec(*location)
			if err != nil {
				t.Fatal(err)
			}
			_, restored, _, err := w.pods.keptOf(t.Context(), spec)
			if err != nil || (string(restored.Archive) == "patch") != test.want.Changes {
				t.Errorf("the archive of the fork is %q (%v)", restored.Archive, err)
			}
			if spec, _, err = w.pods.withKept(t.Context(), spec); err != nil || spec.Source.Git != nil && spec.Source.Git.Commit != test.want.Commit {
				t.Errorf("the pod of the fork clones %+v (%v)", spec.Source.Git, err)
			}
			own := restored
			own.Owner, own.Agent, own.Source, own.CapturedAt, own.Summary = "fork-uid", "fork-run", test.source, later, json.RawMessage(`{"diff":"+own"}`)
			if err := store.KeepWorkspace(t.Context(), own); err != nil {
				t.Fatal(err)
			}
			if _, err := w.BeginFork(t.Context(), fork, "fork-run", RecordedRun{Agent: "run", EndTime: test.end}); err != nil {
				t.Error(err)
			}
			if after, err := store.WorkspaceOf(t.Context(), "fork-uid"); err != nil || !strings.Contains(string(after.Summary), "+own") {
				t.Errorf("a late repetition has replaced what the fork changed with %s (%v)", after.Summary, err)
			}
		})
	}
}
