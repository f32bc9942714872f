// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/clustertest"
	"github.com/nestor-dev/nestor/internal/controller/workspace"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/projection"
)

// askedFiles records with which files a fork begins.
type askedFiles struct{ run workspace.RecordedRun }

func (a *askedFiles) BeginFork(_ context.Context, _ *v1beta1.AgentTask, _ string, run workspace.RecordedRun) (workspace.ForkFiles, error) {
	a.run = run
	return workspace.ForkFiles{Commit: "c0ffee", Changes: !run.EndTime.IsZero()}, nil
}

// forkWorld has the namespace a with the UID now, and runs of it in the ledger.
type forkWorld struct {
	*testing.T
	*Reconciler
	files *askedFiles
}

func newForkWorld(t *testing.T) forkWorld {
	t.Helper()
	api := clustertest.NewCluster(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "now"}})
	runner, _, _ := newPostingRunner(t, api)
	runner.Finder.Reader = api
	files := &askedFiles{}
	runner.Files = files
	return forkWorld{t, &Reconciler{Runner: runner, Changed: cluster.NewQueue(), Tracker: &Tracker{Kind: "SubAgent"}}, files}
}

// record stores a run that reads twice, and ends.
func (w forkWorld) record(uid string, change func(*ledger.Agent, *agent.Config)) {
	w.Helper()
	config := agent.Config{Kind: agent.SubAgent, Name: "run", Depth: 1, MaxDepth: 2, Role: agent.Role{Name: "worker", Revision: "r1", Allow: []string{"*"}},
		Task: agent.Task{Instruction: "Work.", WorkingDir: "src"}, Tools: []agent.Tool{{Name: "read", ReadOnly: true}}}
	record := ledger.Agent{UID: uid, Kind: "SubAgent", Namespace: "a", NamespaceUID: "now", Name: "run", Root: uid, Depth: 1, CreatedAt: time.Unix(1, 0)}
	change(&record, &config)
	batch := ledger.Batch{Agent: uid, Create: &record, Finish: &ledger.Finish{Status: ledger.StatusSuccess, At: time.Unix(9, 0)}}
	for i, fact := range []agent.Fact{
		agent.Started{Config: config}, agent.ModelReplied{Call: "m1", Calls: []agent.ToolCall{{ID: "1", Tool: "read"}}},
		agent.ToolFinished{Call: "1", Outcome: agent.ToolSucceeded, Text: "one"}, agent.ModelReplied{Call: "m2", Text: "Done."},
	} {
		data, err := agent.EncodeEvent(agent.Event{At: agent.Time(1000 * (i + 1)), Fact: fact})
		if err != nil {
			w.Fatal(err)
		}
		batch.Events = append(batch.Events, ledger.Event{Type: agent.FactType(fact), At: time.Unix(int64(i+1), 0), Data: data})
	}
	if err := w.Runner.Ledger.(ledger.Ledger).Append(w.Context(), batch); err != nil {
		w.Fatal(err)
	}
}

func forkOfRun(uid string) *v1beta1.AgentTask {
	task := &v1beta1.AgentTask{ObjectMeta: clustertest.Named("fork", "fork-task")}
	task.Spec = v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, User: "carol", Fork: &v1beta1.TaskFork{UID: uid, SubAgent: "run", ToolResults: v1beta1.ResultsLive}}
	return task
}

func TestForksOfOtherRunsAreRefused(t *testing.T) {
	w := newForkWorld(t)
	w.record("good", func(*ledger.Agent, *agent.Config) {})
	w.record("earlier", func(a *ledger.Agent, _ *agent.Config) { a.NamespaceUID = "earlier" })
	w.record("elsewhere", func(a *ledger.Agent, _ *agent.Config) { a.Namespace = "b" })
	w.record("named", func(a *ledger.Agent, _ *agent.Config) { a.Name = "another" })
	w.record("chat", func(a *ledger.Agent, c *agent.Config) { a.Kind, c.Kind = "AgentChat", agent.Orchestrator })
	w.record("remote", func(_ *ledger.Agent, c *agent.Config) { c.Remote = true })
	w.record("isolated", func(_ *ledger.Agent, c *agent.Config) { c.Isolated = true })
	for uid, want := range map[string]string{
		"good": "", "unknown": "no run with the UID", "earlier": "is not the UID", "elsewhere": "is not the UID", "named": "is not the UID", "chat": "is not the UID",
		"remote": "cannot be forked", "isolated": "cannot be forked",
	} {
		_, err := w.findOrigin(t.Context(), forkOfRun(uid))
		var failure *startError
		if errors.As(err, &failure); (err != nil) != (want != "") || want != "" && (failure == nil || failure.Kind != v1beta1.ErrorInvalidSpec || !strings.Contains(failure.Message, want)) {
			t.Errorf("a fork of %s: %v, want %q", uid, err, want)
		}
	}
}

// A fork begins with the changes of its run only where no call follows, and only if no other agent has used the
// workspace.
func TestFilesOfFork(t *testing.T) {
	for name, test := range map[string]struct {
		sequence    int64
		instruction string
		change      func(*ledger.Agent, *agent.Config)
		ends        bool
		note        string
	}{
		"before a call":            {1, "", nil, false, "c0ffee"},
		"after the last call":      {3, "", nil, true, "as they were at the end"},
		"after the end":            {4, "Go on.", nil, true, "as they were at the end"},
		"a sub-agent of a chat":    {4, "Go on.", func(a *ledger.Agent, _ *agent.Config) { a.Chat, a.Root = "chat", "chat-uid" }, false, "c0ffee"},
		"a sub-agent of the agent": {4, "Go on.", func(a *ledger.Agent, c *agent.Config) { a.Root, a.Parent, a.Depth, c.Depth = "parent", "parent", 2, 2 }, false, "c0ffee"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newForkWorld(t)
			if test.change == nil {
				test.change = func(*ledger.Agent, *agent.Config) {}
			}
			w.record("run", test.change)
			task := forkOfRun("run")
			task.Spec.Fork.Sequence, task.Spec.Instruction = &test.sequence, test.instruction
			task.Spec.Workspace = &v1beta1.Workspace{Git: &v1beta1.GitSource{URL: "https://git.example/a"}}
			sub := clustertest.OwnedBy(task, "AgentTask", &v1beta1.SubAgent{ObjectMeta: clustertest.Named("fork", "fork-run")})
			f := &facts{Run: projection.SubAgentRun(sub), uid: "fork-run", lineage: cluster.Lineage{Root: task}}
			record, fact, err := w.prepareFork(t.Context(), f, task)
			if err != nil {
				t.Fatal(err)
			}
			if got := w.files.run; got.EndTime.IsZero() == test.ends || test.ends && !got.EndTime.Equal(time.Unix(9, 0)) {
				t.Errorf("the files are those of %v, want those of the end: %t", got.EndTime, test.ends)
			}
			forked, ok := fact.(agent.Forked)
			if !ok || len(forked.Notes) != 1 || !strings.Contains(forked.Notes[0], test.note) {
				t.Errorf("the notes are %q, want %q", forked.Notes, test.note)
			}
			if record.RoleRevision != "r1" || record.Origin != "run" || !slices.Contains(forked.Requesters.Users, "carol") {
				t.Errorf("the record is %+v, requested by %v", record, forked.Requesters)
			}
			if assigned, err := w.assignFork(t.Context(), task); err != nil || assigned.Spec.WorkingDir != "src" {
				t.Errorf("the directory of the fork is %q (%v)", assigned.Spec.WorkingDir, err)
			}
		})
	}
}
