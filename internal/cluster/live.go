// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxLiveReads bounds the objects that are read from the API server at the same time.
const maxLiveReads = 16

// Live reads from the API server. Concurrent reads of the same object share one request: a caller gets the result of a
// request that was sent after its call, never an earlier one.
type Live struct {
	client.Reader

	slots chan struct{}
	mu    sync.Mutex
	reads map[objectKey]*sharedRead
}

type objectKey struct {
	kind reflect.Type
	gvk  schema.GroupVersionKind // of partial metadata
	name types.NamespacedName
}

// sharedRead is the last read of an object for which callers wait.
type sharedRead struct {
	waiting int // guarded by Live.mu

	mu     sync.Mutex
	sent   time.Time
	object client.Object
	err    error
}

// NewLive returns a reader of the API server.
func NewLive(api client.Reader) *Live {
	return &Live{Reader: api, slots: make(chan struct{}, maxLiveReads), reads: map[objectKey]*sharedRead{}}
}

func (l *Live) Get(ctx context.Context, name client.ObjectKey, object client.Object, options ...client.GetOption) error {
	called := time.Now()
	key := objectKey{reflect.TypeOf(object), object.GetObjectKind().GroupVersionKind(), name}
	read := l.join(key)
	defer l.leave(key, read)
	read.mu.Lock()
	defer read.mu.Unlock()
	if read.sent.Before(called) || ctx.Err() != nil {
		if err := l.send(ctx, read, name, object, options); err != nil {
			return err
		}
	}
	if read.err == nil {
		reflect.ValueOf(object).Elem().Set(reflect.ValueOf(read.object.DeepCopyObject()).Elem())
	}
	return read.err
}

// send reads an object. The failure of a caller whose context has ended is not shared.
func (l *Live) send(ctx context.Context, read *sharedRead, name client.ObjectKey, object client.Object, options []client.GetOption) error {
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	fresh, _ := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
	fresh.GetObjectKind().SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
	sent := time.Now()
	err := l.Reader.Get(ctx, name, fresh, options...)
	if ctx.Err() != nil {
		return err
	}
	read.sent, read.object, read.err = sent, fresh, err
	return nil
}

func (l *Live) join(key objectKey) *sharedRead {
	l.mu.Lock()
	defer l.mu.Unlock()
	read, ok := l.reads[key]
	if !ok {
		read = &sharedRead{}
		l.reads[key] = read
	}
	read.waiting++
	return read
}

func (l *Live) leave(key objectKey, read *sharedRead) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if read.waiting--; read.waiting == 0 {
		delete(l.reads, key)
	}
}
