// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
	"github.com/nestor-dev/nestor/test/stack"
)

const namespace = "chaos"

const frugalTokens = 3_000

type world struct {
	t        *testing.T
	settings settings
	random   *rand.Rand
	stack    *stack.Stack
	tools    *toolServer
	ledger   ledger.Ledger
	orders   []*order
	user     *user
	faults   *faultInjector
	// failures lists violated invariants, and why the run could not continue.
	failures []string
	// creating prevents that a deleted order is created again.
	creating sync.Mutex
	deleted  map[string]bool
	created  atomic.Bool
	// firer fires the triggers; fired reports that all firings are acknowledged.
	firer *firer
	fired atomic.Bool
	// policies changes the policies.
	policies *policyChanger
	// disk is a small file system for the ledger, if it can be mounted.
	disk string
	// fleet is the replicas; nil in a run with one operator.
	fleet *fleet
}

func newWorld(t *testing.T, s settings) *world {
	w := &world{t: t, deleted: map[string]bool{}, settings: s, random: s.random("workload"), tools: startToolServer(t)}
	file := filepath.Join(t.TempDir(), "chaos.yaml")
	if err := os.WriteFile(file, []byte(script(s.latency())), 0o600); err != nil {
		t.Fatal(err)
	}
	if s.ledger == stack.SQLite {
		w.disk = smallDisk(t)
	}
	var err error
	w.stack, err = stack.Start(t.Context(), stack.Options{
		Ledger: s.ledger, Programs: s.programs, LedgerDir: w.disk, Scripts: []string{file}, ModelFlags: []string{"--record", "1000000"}, NoOperator: true,
		OperatorFlags: s.flags(), DelayWatches: true, WatchSeed: s.seed,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.stack.Stop(); err != nil {
			t.Error(err)
		}
	})
	w.ledger = ledgertest.Open(t, w.stack.LedgerURL)
	w.user, w.faults, w.policies = newUser(w), newFaults(w), newPolicyChanger(w)
	if s.replicas.count > 0 {
		w.fleet = &fleet{world: w, model: startModelCounter(t, w.stack.ModelURL)}
	}
	w.createFixtures()
	return w
}

// createFixtures creates the objects that the workload refers to.
func (w *world) createFixtures() {
	provider := &v1beta1.ModelProvider{ObjectMeta: named("default")}
	provider.Spec = v1beta1.ModelProviderSpec{
		BaseURL: w.stack.ModelURL, DefaultModel: "scripted", RequestTimeoutSeconds: 4, MaxRetries: new(int32(50)),
		Models: []v1beta1.ModelInfo{{Name: "scripted", InputMicrosPerMillion: new(int64(1000)), OutputMicrosPerMillion: new(int64(2000))}},
	}
	if w.fleet != nil {
		provider.Spec.BaseURL, provider.Spec.MaxConcurrentRequests = w.fleet.model.URL+"/v1", maxModelCalls
	}
	server := &v1beta1.ToolServer{ObjectMeta: named("chaos")}
	server.Spec = v1beta1.ToolServerSpec{URL: w.tools.URL, TimeoutSeconds: 2}
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, provider, server,
		role("orchestrator", v1beta1.ApprovalNever, v1beta1.RoleLimits{}, roleWorker, roleCareful, roleLead),
		role(roleWorker, v1beta1.ApprovalNever, v1beta1.RoleLimits{}),
		role(roleCareful, v1beta1.ApprovalWriteTools, v1beta1.RoleLimits{}),
		role(roleLead, v1beta1.ApprovalNever, v1beta1.RoleLimits{}, roleWorker, roleCareful),
		role(roleFrugal, v1beta1.ApprovalNever, v1beta1.RoleLimits{MaxTotalTokens: frugalTokens}),
		role(roleBrief, v1beta1.ApprovalNever, v1beta1.RoleLimits{MaxIterations: 3}),
	}
	for _, object := range append(objects, w.policies.fixtures()...) {
		if err := w.stack.API.Create(w.t.Context(), object); err != nil {
			w.t.Fatal(err)
		}
	}
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }

func role(name string, approval v1beta1.ApprovalMode, limits v1beta1.RoleLimits, delegates ...string) *v1beta1.AgentRole {
	if limits.MaxIterations == 0 {
		limits.MaxIterations = 1000
	}
	limits.MaxDurationSeconds = 86400
	r := &v1beta1.AgentRole{ObjectMeta: named(name)}
	r.Spec = v1beta1.AgentRoleSpec{
		SystemPrompt: "Do what the instruction says.", MaxOutputTokens: 256, Limits: &limits,
		Tools: &v1beta1.RoleTools{Allow: []string{"chaos__*"}}, Approval: &v1beta1.ApprovalPolicy{Mode: approval},
	}
	if len(delegates) > 0 {
		r.Spec.Delegation = &v1beta1.Delegation{Roles: delegates}
	}
	return r
}

// createOrder creates the objects of an order. It is idempotent.
func (w *world) createOrder(ctx context.Context, o *order) error {
	w.creating.Lock()
	defer w.creating.Unlock()
	if w.deleted[o.name] {
		return nil
	}
	for _, object := range o.objects() {
		if err := w.stack.API.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("place order %s: %w", o.name, err)
		}
	}
	return nil
}

func (o *order) objects() []client.Object {
	switch {
	case o.chat:
		chat := &v1beta1.AgentChat{ObjectMeta: named(o.name)}
		chat.Spec.Limits = v1beta1.ChatLimits{MaxDepth: 2, MaxTotalTokens: o.maxTokens}
		chat.Spec.AutoAnswer.Enabled = new(!o.asks)
		message := &v1beta1.AgentMessage{ObjectMeta: named(o.name + "-begin")}
		message.Spec = v1beta1.AgentMessageSpec{Chat: o.name, Content: "Chaos chat " + o.name + "\n" + spawnArguments(o.jobs, "")}
		return []client.Object{chat, message}
	case o.tool:
		task := &v1beta1.AgentTask{ObjectMeta: named(o.name)}
		arguments, err := json.Marshal(map[string]string{"job": o.jobs[0].id, "step": "1"})
		if err != nil {
			panic(err) // cannot fail
		}
		task.Spec = v1beta1.AgentTaskSpec{Type: v1beta1.TaskTool, Tool: "chaos__write", Arguments: &runtime.RawExtension{Raw: arguments}}
		return []client.Object{task}
	}
	task := &v1beta1.AgentTask{ObjectMeta: named(o.name)}
	task.Spec = v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, Role: o.jobs[0].role, Instruction: o.jobs[0].instruction()}
	return []client.Object{task}
}

func (w *world) failModelCalls(ctx context.Context, kind string, times int) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.stack.ModelAdmin+"/script", bytes.NewBufferString(failingScript(kind, times)))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("make the model fail: %w", err)
	}
	if response.StatusCode != http.StatusNoContent {
		return errors.Join(fmt.Errorf("make the model fail: %s", response.Status), response.Body.Close())
	}
	return response.Body.Close()
}

// pause waits, unless the run is over.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
