// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agenttrigger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/kube"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
)

var (
	theTrigger = types.NamespacedName{Namespace: "a", Name: "nightly"}
	begin      = time.Date(2026, 1, 1, 0, 0, 30, 0, time.UTC)
)

// world is a cluster with several operators that act at the same time. Only one of them runs at a time: each stops
// before every request to the API server, and the test decides which of them continues, and which of them crash.
type world struct {
	t         testing.TB
	server    client.WithWatch
	now       time.Time
	serial    int
	operators []*operator
	// started counts how often the work of each object name has begun, and deletedHeld are names that a person deleted
	// before that.
	started     map[string]int
	seen        map[types.UID]bool
	deletedHeld map[string]bool
	// recorded are the ids of the firings that were recorded, by the names of their objects.
	recorded map[string]string
	// history has the objects after each change.
	history [][]client.Object
	// lost are tasks that an operator deleted while they worked.
	lost []string
}

// operator is one operator. Its cache is a copy of the cluster that the test renews.
type operator struct {
	world *world
	cache []client.Object
	// triggers and tasks are the moments in the history of the world that the cache shows.
	triggers, tasks int
	// request is sent before each request to the API server; the operator waits for permission. A false permission is a
	// crash.
	request    chan string
	permission chan bool
	done       chan struct{}
	busy       bool
}

var errCrash = errors.New("crash")

func newWorld(t testing.TB, operators int, objects ...client.Object) *world {
	w := &world{t: t, now: begin, started: map[string]int{}, seen: map[types.UID]bool{}, deletedHeld: map[string]bool{}, recorded: map[string]string{},
		server: fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithStatusSubresource(&v1beta1.AgentTrigger{}, &v1beta1.AgentTask{}).WithObjects(objects...).Build()}
	for range operators {
		o := &operator{world: w}
		w.operators = append(w.operators, o)
		o.renew()
	}
	return w
}

func (w *world) objects() []client.Object {
	var all []client.Object
	var triggers v1beta1.AgentTriggerList
	var tasks v1beta1.AgentTaskList
	for _, list := range []client.ObjectList{&triggers, &tasks} {
		if err := w.server.List(context.Background(), list); err != nil {
			w.t.Fatal(err)
		}
	}
	for i := range triggers.Items {
		all = append(all, &triggers.Items[i])
	}
	for i := range tasks.Items {
		all = append(all, &tasks.Items[i])
	}
	return all
}

func (w *world) trigger() *v1beta1.AgentTrigger {
	var t v1beta1.AgentTrigger
	if err := w.server.Get(context.Background(), theTrigger, &t); err != nil {
		return nil
	}
	return &t
}

func (w *world) tasks() []*v1beta1.AgentTask {
	var tasks []*v1beta1.AgentTask
	for _, object := range w.objects() {
		if task, ok := object.(*v1beta1.AgentTask); ok {
			tasks = append(tasks, task)
		}
	}
	return tasks
}

// observe starts the work of tasks that may start, as the controller of tasks does, and reads the record.
func (w *world) observe() {
	w.snapshot()
	if current := w.trigger(); current != nil {
		for _, p := range current.Status.Pending {
			w.recorded[p.Name] = p.ID
		}
	}
	for _, task := range w.tasks() {
		if !cluster.IsHeld(task) && task.DeletionTimestamp.IsZero() && !w.seen[task.UID] {
			w.seen[task.UID] = true
			w.started[task.Name]++
		}
	}
}

// snapshot keeps the objects as they are now, for caches that are behind.
func (w *world) snapshot() {
	now := w.objects()
	if len(w.history) == 0 || fmt.Sprint(versions(now)) != fmt.Sprint(versions(w.history[len(w.history)-1])) {
		w.history = append(w.history, now)
	}
}

func (o *operator) renew() {
	o.world.snapshot()
	o.renewTo(len(o.world.history)-1, len(o.world.history)-1)
}

// renewTo renews the cache with the triggers and the tasks of two moments: kinds have no order.
func (o *operator) renewTo(triggers, tasks int) {
	o.triggers, o.tasks = triggers, tasks
	o.cache = nil
	for _, object := range o.world.history[triggers] {
		if _, ok := object.(*v1beta1.AgentTrigger); ok {
			o.cache = append(o.cache, object)
		}
	}
	for _, object := range o.world.history[tasks] {
		if _, ok := object.(*v1beta1.AgentTask); ok {
			o.cache = append(o.cache, object)
		}
	}
}

// ask waits until the test lets the request pass.
func (o *operator) ask(what string) {
	if o.request == nil {
		return
	}
	o.request <- what
	if !<-o.permission {
		panic(errCrash)
	}
}

// start runs a function of the operator up to its first request.
func (o *operator) start(f func(*Reconciler)) {
	o.request, o.permission, o.done, o.busy = make(chan string), make(chan bool), make(chan struct{}), true
	go func() {
		defer close(o.done)
		defer func() {
			if crash := recover(); crash != nil && crash != errCrash { //nolint:errorlint // it is this very value
				panic(crash)
			}
		}()
		f(o.reconciler())
	}()
	o.await()
}

// await waits until the operator is about to make a request, or is done.
func (o *operator) await() {
	select {
	case what := <-o.request:
		go func() { o.request <- what }() // so that it is still there
	case <-o.done:
		o.busy = false
	}
}

// step lets the operator make one request, or crash.
func (o *operator) step(crash bool) {
	<-o.request
	o.permission <- !crash
	o.await()
	o.world.observe()
}

// reconciler returns the controller of a process that has just started.
func (o *operator) reconciler() *Reconciler {
	c := &gated{WithWatch: o.world.server, operator: o}
	return &Reconciler{
		Settled: func(*v1beta1.AgentTask) bool { return true },
		Client:  c, Watches: &Watches{}, Finder: resolve.Finder{Live: o.world.server},
		Recorder: &Recorder{Client: c, API: &live{gated: c}, Evaluations: newEvaluator(), Now: func() time.Time { return o.world.now }},
	}
}

// newEvaluator returns an evaluator whose evaluations in the background end before the reconcile that starts them
// continues.
func newEvaluator() *Evaluator {
	e := NewEvaluator(func(types.NamespacedName) {})
	e.slots.Spawn = func(f func()) { f() }
	return e
}

// gated is the client of an operator: it reads from the operator's cache and writes to the server.
type gated struct {
	client.WithWatch
	operator *operator
}

func (g *gated) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	for _, object := range g.operator.cache {
		if client.ObjectKeyFromObject(object) == key && fmt.Sprintf("%T", object) == fmt.Sprintf("%T", into) {
			return runtime.DefaultUnstructuredConverter.FromUnstructured(fieldsOf(object), into)
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func fieldsOf(object client.Object) map[string]any {
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		panic(err)
	}
	return out
}

func (g *gated) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	var asked client.ListOptions
	asked.ApplyOptions(options)
	tasks, ok := list.(*v1beta1.AgentTaskList)
	if !ok {
		return nil // there are no messages
	}
	for _, object := range g.operator.cache {
		task, ok := object.(*v1beta1.AgentTask)
		if !ok {
			continue
		}
		want := asked.FieldSelector.Requirements()[0]
		var value string
		switch want.Field {
		case cluster.HeldField:
			if slices.Contains(task.Finalizers, v1beta1.FinalizerFiring) {
				value = task.Labels[v1beta1.LabelTrigger]
			}
		case cluster.TriggerField:
			value = cluster.TriggerUID(task)
		default:
			return fmt.Errorf("no index %s", want.Field)
		}
		if value == want.Value {
			tasks.Items = append(tasks.Items, *task.DeepCopy())
		}
	}
	return nil
}

func (g *gated) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	g.operator.ask("create " + object.GetName())
	w := g.operator.world
	w.serial++
	object.SetUID(types.UID(fmt.Sprintf("task-%d", w.serial)))
	return g.WithWatch.Create(ctx, object, options...)
}

func (g *gated) Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error {
	g.operator.ask("update " + object.GetName())
	return g.WithWatch.Update(ctx, object, options...)
}

func (g *gated) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	g.operator.ask("delete " + object.GetName())
	var asked client.DeleteOptions
	asked.ApplyOptions(options)
	there := object.DeepCopyObject().(client.Object)
	if err := g.WithWatch.Get(ctx, client.ObjectKeyFromObject(object), there); err != nil {
		return err
	}
	if asked.Preconditions == nil || asked.Preconditions.UID == nil || *asked.Preconditions.UID != there.GetUID() {
		return apierrors.NewConflict(schema.GroupResource{}, object.GetName(), errors.New("another UID"))
	}
	if version := asked.Preconditions.ResourceVersion; version != nil && *version != there.GetResourceVersion() {
		return apierrors.NewConflict(schema.GroupResource{}, object.GetName(), errors.New("another version"))
	}
	if task, ok := there.(*v1beta1.AgentTask); ok && !cluster.IsHeld(task) && task.Status.CompletionTime == nil {
		g.operator.world.lost = append(g.operator.world.lost, task.Name)
	}
	return g.WithWatch.Delete(ctx, object)
}

func (g *gated) Status() client.SubResourceWriter {
	return &gatedStatus{g.WithWatch.Status(), g.operator}
}

type gatedStatus struct {
	client.SubResourceWriter
	operator *operator
}

func (g *gatedStatus) Update(ctx context.Context, object client.Object, options ...client.SubResourceUpdateOption) error {
	g.operator.ask("status of " + object.GetName())
	defer g.operator.world.observe()
	return g.SubResourceWriter.Update(ctx, object, options...)
}

type live struct{ *gated }

func (l *live) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	l.operator.ask("get " + key.Name)
	return l.WithWatch.Get(ctx, key, into, options...)
}

func nightly(policy v1beta1.ConcurrencyPolicy) *v1beta1.AgentTrigger {
	return &v1beta1.AgentTrigger{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "nightly", UID: "trigger-1", Generation: 1, CreationTimestamp: metav1.NewTime(begin)},
		Spec: v1beta1.AgentTriggerSpec{
			Schedule: &v1beta1.TriggerSchedule{Cron: "* * * * *"}, ConcurrencyPolicy: policy, DedupSeconds: 3600,
			Task: &v1beta1.TriggerTask{Role: "general", Instruction: "Look at {{ trigger.id }}."},
		},
	}
}

// finish lets all operators work with current caches until nothing changes.
func (w *world) finish() {
	for _, o := range w.operators {
		for o.busy {
			o.step(false)
		}
		o.request = nil
	}
	for range 20 {
		before := fmt.Sprint(versions(w.objects()))
		for _, o := range w.operators {
			o.renew()
			if _, err := o.reconciler().Reconcile(context.Background(), ctrl.Request{NamespacedName: theTrigger}); err != nil {
				w.t.Fatal(err)
			}
			w.observe()
		}
		if fmt.Sprint(versions(w.objects())) == before {
			return
		}
	}
	w.t.Fatal("the operators do not come to rest")
}

func versions(objects []client.Object) []string {
	var out []string
	for _, object := range objects {
		out = append(out, object.GetName()+object.GetResourceVersion())
	}
	return out
}
