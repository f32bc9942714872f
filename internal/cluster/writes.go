// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// writeTTL bounds how long a write is remembered. An object that was created and deleted while a watch was interrupted
// never reaches the cache.
const writeTTL = time.Minute

// Client is a client whose reads from the cache contain its own writes of Nestor's kinds.
type Client struct {
	client.Client

	mu      sync.Mutex
	written map[reflect.Type]map[client.ObjectKey]write
	// removed has the UIDs of objects that left the cache, and when: the response to a write of one may arrive afterwards.
	removed map[types.UID]time.Time
	// swept is when expired writes were last removed.
	swept time.Time
}

// write is the newest version of an object that this process has written, or its deletion.
type write struct {
	object  client.Object
	deleted bool
	at      time.Time
}

// NewClient returns a client that reads from a cache.
func NewClient(cached client.Client) *Client {
	return &Client{Client: cached, written: map[reflect.Type]map[client.ObjectKey]write{}, removed: map[types.UID]time.Time{}}
}

// Observe forgets writes when the cache contains them.
func (c *Client) Observe(ctx context.Context, informers cache.Informers) error {
	for _, object := range []client.Object{
		&v1beta1.AgentChat{}, &v1beta1.AgentMessage{}, &v1beta1.AgentRole{}, &v1beta1.AgentTask{}, &v1beta1.SubAgent{}, &v1beta1.AgentTrigger{},
		&v1beta1.AgentEvaluation{},
	} {
		informer, err := informers.GetInformer(ctx, object)
		if err != nil {
			return fmt.Errorf("watch %T: %w", object, err)
		}
		forget := func(now any) {
			if cached, ok := now.(client.Object); ok {
				c.newer(cached)
			}
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: forget, UpdateFunc: func(_, now any) { forget(now) },
			DeleteFunc: func(last any) {
				if tombstone, ok := last.(toolscache.DeletedFinalStateUnknown); ok {
					last = tombstone.Obj
				}
				if deleted, ok := last.(client.Object); ok {
					c.forget(deleted)
				}
			}}); err != nil {
			return fmt.Errorf("watch %T: %w", object, err)
		}
	}
	return nil
}

// remember records a write. Only these kinds are read after they are written.
func (c *Client) remember(object client.Object, deleted bool) {
	switch object.(type) {
	case *v1beta1.AgentChat, *v1beta1.AgentMessage, *v1beta1.AgentRole, *v1beta1.AgentTask, *v1beta1.SubAgent, *v1beta1.AgentTrigger,
		*v1beta1.AgentEvaluation:
	default:
		return
	}
	written, _ := object.DeepCopyObject().(client.Object)
	written.SetManagedFields(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, gone := c.removed[object.GetUID()]; gone {
		return
	}
	kind := reflect.TypeOf(object)
	if c.written[kind] == nil {
		c.written[kind] = map[client.ObjectKey]write{}
	}
	if before, ok := c.written[kind][client.ObjectKeyFromObject(object)]; ok && !deleted && version(before.object) > version(written) {
		return
	}
	now := time.Now()
	c.written[kind][client.ObjectKeyFromObject(object)] = write{written, deleted, now}
	c.sweep(now)
}

// sweep removes the expired writes, once per writeTTL. A watch event that arrives before the response to its write
// forgets nothing, and the object may never be read again.
func (c *Client) sweep(now time.Time) {
	if now.Sub(c.swept) < writeTTL {
		return
	}
	c.swept = now
	for _, writes := range c.written {
		maps.DeleteFunc(writes, func(_ client.ObjectKey, w write) bool { return now.Sub(w.at) > writeTTL })
	}
	maps.DeleteFunc(c.removed, func(_ types.UID, at time.Time) bool { return now.Sub(at) > writeTTL })
}

// forget forgets the write of an object that left the cache.
func (c *Client) forget(object client.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.removed[object.GetUID()] = now
	c.sweep(now)
	writes, name := c.written[reflect.TypeOf(object)], client.ObjectKeyFromObject(object)
	own, ok := writes[name]
	if uid := object.GetUID(); ok && (own.object.GetUID() == uid || own.object.GetUID() == "") {
		delete(writes, name) // one with another UID was created before the event of the deletion arrived
	}
}

// newer returns the own write of an object that the cached version does not contain, and forgets a write that it
// contains.
func (c *Client) newer(cached client.Object) (write, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind, name := reflect.TypeOf(cached), client.ObjectKeyFromObject(cached)
	own, ok := c.written[kind][name]
	if !ok {
		return write{}, false
	}
	contained := version(cached) >= version(own.object)
	if own.deleted {
		replaced := cached.GetUID() != own.object.GetUID() || !cached.GetDeletionTimestamp().IsZero()
		contained = replaced && version(cached) > version(own.object)
	}
	if contained || time.Since(own.at) > writeTTL {
		delete(c.written[kind], name)
		return write{}, false
	}
	return own, true
}

// version returns the resource version of an object as a number, by which the API server orders the writes of a kind.
func version(object client.Object) uint64 {
	number, _ := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	return number
}

func (w write) apply(cached client.Object) client.Object {
	if !w.deleted {
		return w.object
	}
	going, _ := cached.DeepCopyObject().(client.Object)
	going.SetDeletionTimestamp(&metav1.Time{Time: w.at})
	return going
}

// Get implements client.Reader. If the cache does not have an object, Get returns the own write of it, although the
// object may have been deleted since: see Reader.Observed.
func (c *Client) Get(ctx context.Context, name client.ObjectKey, object client.Object, options ...client.GetOption) error {
	err := c.Client.Get(ctx, name, object, options...)
	return c.addOwn(err, name, object)
}

// getObserved is like Get, but does not have what the cache does not have.
func (c *Client) getObserved(ctx context.Context, name client.ObjectKey, object client.Object) error {
	if err := c.Client.Get(ctx, name, object); err != nil {
		return err
	}
	return c.addOwn(nil, name, object)
}

// addOwn adds the own write to an object that was read from the cache with this error.
func (c *Client) addOwn(err error, name client.ObjectKey, object client.Object) error {
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if err != nil {
		object.SetNamespace(name.Namespace)
		object.SetName(name.Name)
		object.SetResourceVersion("")
	}
	own, ok := c.newer(object)
	if !ok || err != nil && own.deleted {
		return err
	}
	reflect.ValueOf(object).Elem().Set(reflect.ValueOf(own.apply(object).DeepCopyObject()).Elem())
	return nil
}

func (c *Client) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := c.Client.List(ctx, list, options...); err != nil {
		return err
	}
	var which client.ListOptions
	which.ApplyOptions(options)
	own := c.of(list, which)
	if len(own) == 0 {
		return nil
	}
	var items []runtime.Object
	err := meta.EachListItem(list, func(item runtime.Object) error {
		object, ok := item.(client.Object)
		if !ok {
			items = append(items, item)
			return nil
		}
		delete(own, client.ObjectKeyFromObject(object))
		if newer, ok := c.newer(object); ok {
			object = newer.apply(object)
		}
		if matches(object, which) {
			items = append(items, object)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for name, kept := range own { // those that the cache does not have, or in which it has another value of the index
		object, _ := reflect.New(reflect.TypeOf(kept.object).Elem()).Interface().(client.Object)
		if c.Get(ctx, name, object) == nil && matches(object, which) {
			items = append(items, object)
		}
	}
	return meta.SetList(list, items)
}

// of returns the own writes of the kind of a list that may belong to it.
func (c *Client) of(list client.ObjectList, which client.ListOptions) map[client.ObjectKey]write {
	items, err := meta.GetItemsPtr(list)
	if err != nil {
		return nil
	}
	kind := reflect.PointerTo(reflect.TypeOf(items).Elem().Elem())
	c.mu.Lock()
	defer c.mu.Unlock()
	own := map[client.ObjectKey]write{}
	for name, object := range c.written[kind] {
		if which.Namespace == "" || which.Namespace == name.Namespace {
			own[name] = object
		}
	}
	return own
}

func matches(object client.Object, which client.ListOptions) bool {
	if which.LabelSelector != nil && !which.LabelSelector.Matches(labels.Set(object.GetLabels())) {
		return false
	}
	if which.FieldSelector == nil {
		return true
	}
	for _, r := range which.FieldSelector.Requirements() {
		if indexed(object, r.Field) != r.Value {
			return false
		}
	}
	return true
}

func (c *Client) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	err := c.Client.Create(ctx, object, options...)
	if err == nil {
		c.remember(object, false)
	}
	return err
}

func (c *Client) Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error {
	err := c.Client.Update(ctx, object, options...)
	if err == nil {
		c.remember(object, false)
	}
	return err
}

func (c *Client) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	err := c.Client.Delete(ctx, object, options...)
	if err == nil {
		c.remember(object, true)
	}
	return err
}

func (c *Client) Status() client.SubResourceWriter { return statusWriter{c.Client.Status(), c} }

type statusWriter struct {
	client.SubResourceWriter
	client *Client
}

// Update implements client.SubResourceWriter. The API server takes nothing but the status from the request, so the rest
// is not sent: decoding it costs the API server about as much as decoding the status.
func (s statusWriter) Update(ctx context.Context, object client.Object, options ...client.SubResourceUpdateOption) error {
	sent := statusOnly(object)
	if err := s.SubResourceWriter.Update(ctx, sent, options...); err != nil {
		return err
	}
	reflect.ValueOf(object).Elem().Set(reflect.ValueOf(sent).Elem()) // the response is the whole object
	s.client.remember(object, false)
	return nil
}

// statusOnly returns an object of the same kind that has only the identity and the status of an object.
func statusOnly(object client.Object) client.Object {
	from := reflect.ValueOf(object).Elem()
	to := reflect.New(from.Type())
	short, _ := to.Interface().(client.Object)
	short.SetNamespace(object.GetNamespace())
	short.SetName(object.GetName())
	short.SetUID(object.GetUID())
	short.SetResourceVersion(object.GetResourceVersion())
	to.Elem().FieldByName("Status").Set(from.FieldByName("Status"))
	return short
}
