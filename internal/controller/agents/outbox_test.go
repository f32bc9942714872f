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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/clustertest"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
	"github.com/nestor-dev/nestor/test/patience"
)

// noModels makes every turn fail; the chat posts the failure.
type noModels struct{}

func (noModels) Route(context.Context, ledger.Agent) (string, error) {
	return "", errors.New("no model")
}
func (noModels) Endpoint(context.Context, ledger.Agent, string) (engine.Endpoint, error) {
	return engine.Endpoint{}, errors.New("no model")
}

// newRouter returns an engine that is closed when the test ends.
func newRouter(t *testing.T, options engine.Options) *engine.Router {
	t.Helper()
	e := engine.NewRouter(options, 0)
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// newPostingRunner returns a runner and a chat with an item to post.
func newPostingRunner(t *testing.T, api client.WithWatch) (*Runner, Owner, <-chan struct{}) {
	t.Helper()
	changed := make(chan struct{}, 1)
	kept := ledgertest.OpenSQLite(t)
	e := newRouter(t, engine.Options{Ledger: kept, Models: noModels{}, Changed: func(engine.Change) {
		select {
		case changed <- struct{}{}:
		default:
		}
	}})
	chat := &v1beta1.AgentChat{ObjectMeta: clustertest.Named("chat", "chat-uid")}
	r := &Runner{Reader: cluster.Reader{Cache: api, API: api}, Client: api, Engine: e, Finder: resolve.Finder{Live: api}, Ledger: kept, MessageTaken: func(types.NamespacedName) {}}
	record := ledger.Agent{UID: "chat-uid", Kind: "AgentChat", Namespace: "a", Name: "chat", Root: "chat-uid", Chat: "chat", CreatedAt: time.Now()}
	if err := e.Start(record, agent.Started{Config: agent.Config{Kind: agent.Orchestrator, Name: "chat", Limits: agent.Limits{MaxIterations: 1}}}); err != nil {
		t.Fatal(err)
	}
	if err := e.Record(t.Context(), "chat-uid", agent.MessageArrived{Message: "hello", Text: "Hello"}); err != nil {
		t.Fatal(err)
	}
	return r, Owner{Object: chat, Chat: "chat"}, changed
}

// waitUntil applies the state of the chat until ok returns true.
func waitUntil(t *testing.T, r *Runner, owner Owner, changed <-chan struct{}, ok func(agent.State, error) bool) agent.State {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience.Limit())
	defer cancel()
	for {
		state, err := r.Engine.View(ctx, string(owner.Object.GetUID()))
		if err != nil {
			t.Fatal(err)
		}
		if ok(state, r.Apply(ctx, owner, state)) {
			return state
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("timed out; outbox: %+v", state.Outbox)
		}
	}
}

// existingPost returns the message that a chat of newPostingRunner posts.
func existingPost(t *testing.T) *v1beta1.AgentMessage {
	t.Helper()
	api := clustertest.NewCluster(t)
	r, owner, changed := newPostingRunner(t, api)
	waitUntil(t, r, owner, changed, posted)
	var post v1beta1.AgentMessage
	if err := api.Get(t.Context(), types.NamespacedName{Namespace: "a", Name: "chat-post-1"}, &post); err != nil {
		t.Fatal(err)
	}
	post.ResourceVersion = ""
	return &post
}

func posted(s agent.State, err error) bool { return err == nil && s.Posts > 0 && len(s.Outbox) == 0 }

// The message controller writes the status of a message. The chat waits until the status shows that the message was
// handled.
func TestTakenMessageKeepsItsController(t *testing.T) {
	for name, test := range map[string]struct {
		phase v1beta1.MessagePhase
		asked bool
	}{
		"not handled yet": {v1beta1.MessagePending, true},
		"handled":         {v1beta1.MessageHandled, false},
	} {
		t.Run(name, func(t *testing.T) {
			hello := &v1beta1.AgentMessage{ObjectMeta: clustertest.Named("hello", "m"), Spec: v1beta1.AgentMessageSpec{Chat: "chat", Role: v1beta1.RoleUser}}
			hello.Status.Phase = test.phase
			r, owner, changed := newPostingRunner(t, clustertest.NewCluster(t, hello))
			asked := false
			r.MessageTaken = func(name types.NamespacedName) { asked = asked || name.Name == "hello" }
			state := waitUntil(t, r, owner, changed, func(s agent.State, err error) bool {
				return err == nil && s.Posts > 0 && (asked || len(s.Outbox) == 0)
			})
			kept := slices.ContainsFunc(state.Outbox, func(item agent.Item) bool { return item.Kind == agent.ItemHandled })
			if asked != test.asked || kept != test.asked {
				t.Errorf("message controller notified: %v, item kept: %v; want both %v", asked, kept, test.asked)
			}
		})
	}
}

// A message with the name of a post is the post only if the chat owns it and it has the same content: a chat that lost
// events uses names again.
func TestPostWithTakenName(t *testing.T) {
	chat := &v1beta1.AgentChat{ObjectMeta: clustertest.Named("chat", "chat-uid")}
	old := &v1beta1.AgentChat{ObjectMeta: clustertest.Named("chat", "old")}
	assistant := v1beta1.AgentMessageSpec{Chat: "chat", Role: v1beta1.RoleAssistant, Content: "earlier"}
	for name, test := range map[string]struct {
		there *v1beta1.AgentMessage
		taken bool
	}{
		"an orphan":               {&v1beta1.AgentMessage{ObjectMeta: clustertest.Named("chat-post-1", "m"), Spec: assistant}, true},
		"that of an earlier chat": {clustertest.OwnedBy(old, "AgentChat", &v1beta1.AgentMessage{ObjectMeta: clustertest.Named("chat-post-1", "m"), Spec: assistant}), true},
		"a user's": {clustertest.OwnedBy(chat, "AgentChat", &v1beta1.AgentMessage{ObjectMeta: clustertest.Named("chat-post-1", "m"),
			Spec: v1beta1.AgentMessageSpec{Chat: "chat", Role: v1beta1.RoleUser}}), true},
		"that of a lost turn": {clustertest.OwnedBy(chat, "AgentChat", &v1beta1.AgentMessage{ObjectMeta: clustertest.Named("chat-post-1", "m"), Spec: assistant}), true},
		"the post itself":     {existingPost(t), false},
	} {
		t.Run(name, func(t *testing.T) {
			api := clustertest.NewCluster(t, test.there)
			r, owner, changed := newPostingRunner(t, api)
			waitUntil(t, r, owner, changed, posted)
			var list v1beta1.AgentMessageList
			if err := api.List(t.Context(), &list); err != nil {
				t.Fatal(err)
			}
			if got := len(list.Items) == 2; got != test.taken {
				t.Fatalf("got %d messages", len(list.Items))
			}
			for i := range list.Items {
				m := &list.Items[i]
				if m.Name != "chat-post-1" && (!strings.HasPrefix(m.Name, "chat-post-1-") || !metav1.IsControlledBy(m, chat)) {
					t.Errorf("the post is %s of %v", m.Name, m.OwnerReferences)
				}
			}
		})
	}
}

// A rejected post does not block the rest of the outbox, and is posted as soon as the API server accepts it.
func TestRefusedPostIsRetried(t *testing.T) {
	refuse := true
	user := &v1beta1.AgentMessage{ObjectMeta: clustertest.Named("hello", "m"), Spec: v1beta1.AgentMessageSpec{Chat: "chat", Role: v1beta1.RoleUser}}
	user.Status.Phase = v1beta1.MessageHandled
	api := interceptor.NewClient(clustertest.NewCluster(t, user), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if refuse {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "agentmessages"}, object.GetName(), errors.New("exceeded quota: few"))
			}
			return c.Create(ctx, object, options...)
		},
	})
	r, owner, changed := newPostingRunner(t, api)
	waitUntil(t, r, owner, changed, func(s agent.State, err error) bool {
		var refused *PostRefusedError
		return errors.As(err, &refused) && strings.Contains(refused.Error(), "exceeded quota") && len(s.Outbox) == 1
	})
	refuse = false
	waitUntil(t, r, owner, changed, posted)
}

// The second part of a long answer is not posted before the first one.
func TestPartsArePostedInOrder(t *testing.T) {
	fail := true
	api := interceptor.NewClient(clustertest.NewCluster(t), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if fail && object.GetName() == "chat-post-1" {
				return errors.New("the API server is slow")
			}
			return c.Create(ctx, object, options...)
		},
	})
	r, owner, _ := newPostingRunner(t, api)
	s := agent.State{Config: agent.Config{Kind: agent.Orchestrator, Name: "chat"}, Phase: agent.PhaseIdle, Outbox: []agent.Item{
		{ID: "post/1", Kind: agent.ItemPost, Text: "one, "}, {ID: "post/2", Kind: agent.ItemPost, Text: "two, ", Continues: true},
		{ID: "post/3", Kind: agent.ItemPost, Text: "three", Continues: true}, {ID: "post/4", Kind: agent.ItemPost, Text: "another"},
	}}
	for _, want := range [][]string{{"another"}, {"another", "one, ", "three", "two, "}} {
		if err := r.Apply(t.Context(), owner, s); (err != nil) != fail {
			t.Fatal(err)
		}
		var list v1beta1.AgentMessageList
		if err := api.List(t.Context(), &list); err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, m := range list.Items {
			texts = append(texts, m.Spec.Content)
		}
		if slices.Sort(texts); !slices.Equal(texts, want) {
			t.Errorf("posted are %q, want %q", texts, want)
		}
		fail = false
	}
}

// rejectingQuota returns a client of a namespace whose quota is used up. The API server checks quotas before names.
func rejectingQuota(api client.WithWatch) client.WithWatch {
	return interceptor.NewClient(api, interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "objects"}, object.GetName(), errors.New("exceeded quota: few"))
		},
	})
}

// The post itself may have filled the quota, if the operator ended or reconciled again before it recorded the post.
func TestExistingPostIsNotRefused(t *testing.T) {
	there := existingPost(t)
	for name, cache := range map[string]client.WithWatch{"in the cache": clustertest.NewCluster(t, there), "not in the cache": clustertest.NewCluster(t)} {
		t.Run(name, func(t *testing.T) {
			r, owner, changed := newPostingRunner(t, rejectingQuota(cache))
			r.API = clustertest.NewCluster(t, there)
			waitUntil(t, r, owner, changed, posted)
		})
	}
}

// Every attempt to create a post counts against quotas, even if the post exists.
func TestExistingPostIsNotRecreated(t *testing.T) {
	there := existingPost(t)
	creates := 0
	api := interceptor.NewClient(clustertest.NewCluster(t, there), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			creates++
			return c.Create(ctx, object, options...)
		},
	})
	r, owner, changed := newPostingRunner(t, api)
	waitUntil(t, r, owner, changed, posted)
	if creates > 0 {
		t.Errorf("an existing post was created %d times", creates)
	}
}

// A task that is missing from the cache may have filled the quota. If it were treated as rejected, its parent would
// receive a failed child.
func TestExistingChildIsNotRefused(t *testing.T) {
	r, owner, _ := newPostingRunner(t, rejectingQuota(clustertest.NewCluster(t)))
	if err := r.Engine.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	isReported := func(there ...client.Object) bool {
		t.Helper()
		r.API = clustertest.NewCluster(t, there...)
		err := r.startChild(t.Context(), owner, agent.ChildSpec{Name: "chat-1", Role: "general", Task: "work"})
		if err != nil && !errors.Is(err, engine.ErrClosed) { // the engine is closed, so every delivery fails with ErrClosed
			t.Fatal(err)
		}
		return err != nil
	}
	if isReported(clustertest.OwnedBy(owner.Object, "AgentChat", &v1beta1.AgentTask{ObjectMeta: clustertest.Named("chat-1", "task")})) {
		t.Error("an existing child was reported as refused")
	}
	if !isReported() {
		t.Error("a refused child was not reported")
	}
}
