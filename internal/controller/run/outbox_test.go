// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"path/filepath"
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

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/controller/resolve"
	"github.com/nestor-dev/nestor/internal/controller/tree"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/connect"
)

// noModels makes every turn fail, which the chat says in a post.
type noModels struct{}

func (noModels) Route(context.Context, ledger.Agent) (string, error) {
	return "", errors.New("no model")
}
func (noModels) Endpoint(context.Context, ledger.Agent, string) (engine.Endpoint, error) {
	return engine.Endpoint{}, errors.New("no model")
}

// newPostingRunner is a chat with something to post, and who posts it.
func newPostingRunner(t *testing.T, api client.WithWatch) (*Runner, Owner, <-chan struct{}) {
	t.Helper()
	changed := make(chan struct{}, 1)
	kept, err := connect.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	e := engine.New(engine.Options{Ledger: kept, Models: noModels{}, Changed: func(engine.Change) {
		select {
		case changed <- struct{}{}:
		default:
		}
	}})
	t.Cleanup(func() {
		if err := errors.Join(e.Close(context.Background()), kept.Close()); err != nil {
			t.Error(err)
		}
	})
	chat := &v1alpha1.AgentChat{ObjectMeta: named("chat", "chat-uid")}
	r := &Runner{Reader: tree.Reader{Cache: api, API: api}, Client: api, Engine: e, Finder: resolve.Finder{Live: api}, Ledger: kept, MessageTaken: func(types.NamespacedName) {}}
	record := ledger.Agent{UID: "chat-uid", Kind: "AgentChat", Namespace: "a", Name: "chat", Root: "chat-uid", Chat: "chat", CreatedAt: time.Now()}
	if err := e.Start(record, agent.Started{Config: agent.Config{Kind: agent.Orchestrator, Name: "chat", Limits: agent.Limits{MaxIterations: 1}}}); err != nil {
		t.Fatal(err)
	}
	if err := e.Record(t.Context(), "chat-uid", agent.MessageArrived{Message: "hello", Text: "Hello"}); err != nil {
		t.Fatal(err)
	}
	return r, Owner{Object: chat, Chat: "chat"}, changed
}

// waitUntil applies what the chat wants until it says that something is so.
func waitUntil(t *testing.T, r *Runner, owner Owner, changed <-chan struct{}, ok func(agent.State, error) bool) agent.State {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
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
			t.Fatalf("it never came: %+v", state.Outbox)
		}
	}
}

func posted(s agent.State, err error) bool { return err == nil && s.Posts > 0 && len(s.Outbox) == 0 }

// The status of a message is written by its own controller: the chat waits until it shows that the message was handled.
func TestATakenMessageIsLeftToItsController(t *testing.T) {
	for name, test := range map[string]struct {
		phase v1alpha1.MessagePhase
		asked bool
	}{
		"not handled yet": {v1alpha1.MessagePending, true},
		"handled":         {v1alpha1.MessageHandled, false},
	} {
		t.Run(name, func(t *testing.T) {
			hello := &v1alpha1.AgentMessage{ObjectMeta: named("hello", "m"), Spec: v1alpha1.AgentMessageSpec{Chat: "chat", Role: v1alpha1.RoleUser}}
			hello.Status.Phase = test.phase
			r, owner, changed := newPostingRunner(t, newCluster(t, hello))
			asked := false
			r.MessageTaken = func(name types.NamespacedName) { asked = asked || name.Name == "hello" }
			state := waitUntil(t, r, owner, changed, func(s agent.State, err error) bool {
				return err == nil && s.Posts > 0 && (asked || len(s.Outbox) == 0)
			})
			kept := slices.ContainsFunc(state.Outbox, func(item agent.Item) bool { return item.Kind == agent.ItemHandled })
			if asked != test.asked || kept != test.asked {
				t.Errorf("its controller was asked: %v, and the item is kept: %v; want %v", asked, kept, test.asked)
			}
		})
	}
}

// A message with the name of a post is the post only if the chat owns it.
func TestAPostWhoseNameIsTakenGetsAnother(t *testing.T) {
	chat := &v1alpha1.AgentChat{ObjectMeta: named("chat", "chat-uid")}
	old := &v1alpha1.AgentChat{ObjectMeta: named("chat", "old")}
	assistant := v1alpha1.AgentMessageSpec{Chat: "chat", Role: v1alpha1.RoleAssistant, Content: "earlier"}
	for name, test := range map[string]struct {
		there *v1alpha1.AgentMessage
		taken bool
	}{
		"an orphan":               {&v1alpha1.AgentMessage{ObjectMeta: named("chat-post-1", "m"), Spec: assistant}, true},
		"that of an earlier chat": {ownedBy(old, "AgentChat", &v1alpha1.AgentMessage{ObjectMeta: named("chat-post-1", "m"), Spec: assistant}), true},
		"a user's": {ownedBy(chat, "AgentChat", &v1alpha1.AgentMessage{ObjectMeta: named("chat-post-1", "m"),
			Spec: v1alpha1.AgentMessageSpec{Chat: "chat", Role: v1alpha1.RoleUser}}), true},
		"the post itself": {ownedBy(chat, "AgentChat", &v1alpha1.AgentMessage{ObjectMeta: named("chat-post-1", "m"), Spec: assistant}), false},
	} {
		t.Run(name, func(t *testing.T) {
			api := newCluster(t, test.there)
			r, owner, changed := newPostingRunner(t, api)
			waitUntil(t, r, owner, changed, posted)
			var list v1alpha1.AgentMessageList
			if err := api.List(t.Context(), &list); err != nil {
				t.Fatal(err)
			}
			if got := len(list.Items) == 2; got != test.taken {
				t.Fatalf("there are %d messages", len(list.Items))
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

// A post that is refused does not keep the rest of the outbox back, and is posted when it is taken.
func TestARefusedPostIsTriedAgain(t *testing.T) {
	refuse := true
	user := &v1alpha1.AgentMessage{ObjectMeta: named("hello", "m"), Spec: v1alpha1.AgentMessageSpec{Chat: "chat", Role: v1alpha1.RoleUser}}
	user.Status.Phase = v1alpha1.MessageHandled
	api := interceptor.NewClient(newCluster(t, user), interceptor.Funcs{
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

// rejectingQuota is a namespace whose quota is used up. The API server looks at the quota before it looks at the name.
func rejectingQuota(api client.WithWatch) client.WithWatch {
	return interceptor.NewClient(api, interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "objects"}, object.GetName(), errors.New("exceeded quota: few"))
		},
	})
}

// What filled the quota may be the post itself: an operator that ended, or looked again, before it noted that it had posted it.
func TestAPostThatIsThereIsNotRefused(t *testing.T) {
	chat := &v1alpha1.AgentChat{ObjectMeta: named("chat", "chat-uid")}
	there := ownedBy(chat, "AgentChat", &v1alpha1.AgentMessage{ObjectMeta: named("chat-post-1", "m"),
		Spec: v1alpha1.AgentMessageSpec{Chat: "chat", Role: v1alpha1.RoleAssistant, Content: "earlier"}})
	for name, cache := range map[string]client.WithWatch{"of which the cache knows": newCluster(t, there), "of which the cache knows not": newCluster(t)} {
		t.Run(name, func(t *testing.T) {
			r, owner, changed := newPostingRunner(t, rejectingQuota(cache))
			r.API = newCluster(t, there)
			waitUntil(t, r, owner, changed, posted)
		})
	}
}

// Every attempt to create a post counts for quotas, also if the post is there.
func TestAPostThatIsThereIsNotCreatedAgain(t *testing.T) {
	chat := &v1alpha1.AgentChat{ObjectMeta: named("chat", "chat-uid")}
	there := ownedBy(chat, "AgentChat", &v1alpha1.AgentMessage{ObjectMeta: named("chat-post-1", "m"),
		Spec: v1alpha1.AgentMessageSpec{Chat: "chat", Role: v1alpha1.RoleAssistant, Content: "earlier"}})
	creates := 0
	api := interceptor.NewClient(newCluster(t, there), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			creates++
			return c.Create(ctx, object, options...)
		},
	})
	r, owner, changed := newPostingRunner(t, api)
	waitUntil(t, r, owner, changed, posted)
	if creates > 0 {
		t.Errorf("a post that is there was created %d times", creates)
	}
}

// A task that the cache has not heard of may be what filled the quota. To take it for refused would tell its parent that it failed.
func TestAChildThatIsThereIsNotRefused(t *testing.T) {
	r, owner, _ := newPostingRunner(t, rejectingQuota(newCluster(t)))
	if err := r.Engine.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	tellsParent := func(there ...client.Object) bool {
		t.Helper()
		r.API = newCluster(t, there...)
		err := r.startChild(t.Context(), owner, agent.ChildSpec{Name: "chat-1", Role: "general", Task: "work"})
		if err != nil && !errors.Is(err, engine.ErrClosed) { // which is what whoever tells an agent something hears now
			t.Fatal(err)
		}
		return err != nil
	}
	if tellsParent(ownedBy(owner.Object, "AgentChat", &v1alpha1.AgentTask{ObjectMeta: named("chat-1", "task")})) {
		t.Error("a child that is there is told as refused")
	}
	if !tellsParent() {
		t.Error("a child that is refused is not told")
	}
}
