// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"path"
	"strconv"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// leaseServer is the part of an API server that serves Leases, without a network: a synctest bubble can contain it, so a test decides what a slow machine
// would decide otherwise, that is whether a Lease is renewed in time. Requests take a random while.
type leaseServer struct {
	mu      sync.Mutex
	leases  map[string]*coordinationv1.Lease
	events  []leaseEvent // the one that made version n is at n-1
	changed chan struct{}
}

type leaseEvent struct {
	Type   watch.EventType      `json:"type"`
	Object coordinationv1.Lease `json:"object"`
}

var leaseResource = coordinationv1.Resource("leases")

func newLeaseServer() *leaseServer {
	return &leaseServer{leases: map[string]*coordinationv1.Lease{}, changed: make(chan struct{})}
}

// RoundTrip implements http.RoundTripper.
func (s *leaseServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := latency(r.Context()); err != nil {
		return nil, err
	}
	if r.URL.Query().Get("watch") != "" {
		return s.watch(r)
	}
	object, err := s.serve(r)
	code := http.StatusOK
	if err != nil {
		failure, ok := errors.AsType[*apierrors.StatusError](err)
		if !ok {
			return nil, err
		}
		status := failure.Status()
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		object, code = &status, int(status.Code)
	}
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	if err := latency(r.Context()); err != nil {
		return nil, err
	}
	return respond(r, code, io.NopCloser(bytes.NewReader(text))), nil
}

func respond(r *http.Request, code int, body io.ReadCloser) *http.Response {
	header := http.Header{"Content-Type": {runtime.ContentTypeJSON}}
	return &http.Response{StatusCode: code, Header: header, Body: body, Request: r, ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1}
}

func latency(ctx context.Context) error {
	timer := time.NewTimer(rand.N(5 * time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *leaseServer) serve(r *http.Request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := path.Base(r.URL.Path)
	switch r.Method {
	case http.MethodPost:
		return s.create(r)
	case http.MethodPut:
		return s.update(r)
	case http.MethodDelete:
		return s.remove(r, name)
	}
	if name == leaseResource.Resource {
		return s.list(r)
	}
	lease, ok := s.leases[name]
	if !ok {
		return nil, apierrors.NewNotFound(leaseResource, name)
	}
	return lease, nil
}

func (s *leaseServer) list(r *http.Request) (any, error) {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		return nil, err
	}
	list := &coordinationv1.LeaseList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(len(s.events))}}
	list.TypeMeta = metav1.TypeMeta{APIVersion: coordinationv1.SchemeGroupVersion.String(), Kind: "LeaseList"}
	for _, lease := range s.leases {
		if selector.Matches(labels.Set(lease.Labels)) {
			list.Items = append(list.Items, *lease)
		}
	}
	return list, nil
}

func (s *leaseServer) create(r *http.Request) (any, error) {
	var lease coordinationv1.Lease
	if err := json.NewDecoder(r.Body).Decode(&lease); err != nil {
		return nil, err
	}
	if s.leases[lease.Name] != nil {
		return nil, apierrors.NewAlreadyExists(leaseResource, lease.Name)
	}
	lease.UID, lease.CreationTimestamp = types.UID(strconv.Itoa(len(s.events))), metav1.Now()
	return s.store(watch.Added, &lease), nil
}

func (s *leaseServer) update(r *http.Request) (any, error) {
	var lease coordinationv1.Lease
	if err := json.NewDecoder(r.Body).Decode(&lease); err != nil {
		return nil, err
	}
	old := s.leases[lease.Name]
	if old == nil {
		return nil, apierrors.NewNotFound(leaseResource, lease.Name)
	}
	if lease.ResourceVersion != old.ResourceVersion || lease.UID != old.UID {
		return nil, apierrors.NewConflict(leaseResource, lease.Name, nil)
	}
	return s.store(watch.Modified, &lease), nil
}

func (s *leaseServer) remove(r *http.Request, name string) (any, error) {
	var options metav1.DeleteOptions
	if err := json.NewDecoder(r.Body).Decode(&options); err != nil {
		return nil, err
	}
	lease := s.leases[name]
	if lease == nil {
		return nil, apierrors.NewNotFound(leaseResource, name)
	}
	if p := options.Preconditions; p != nil && (*p.UID != lease.UID || *p.ResourceVersion != lease.ResourceVersion) {
		return nil, apierrors.NewConflict(leaseResource, name, nil)
	}
	s.store(watch.Deleted, lease.DeepCopy())
	delete(s.leases, name)
	return &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess}, nil
}

// store gives a Lease a new version, and tells the watches.
func (s *leaseServer) store(what watch.EventType, lease *coordinationv1.Lease) *coordinationv1.Lease {
	lease.TypeMeta = metav1.TypeMeta{APIVersion: coordinationv1.SchemeGroupVersion.String(), Kind: "Lease"}
	lease.ResourceVersion = strconv.Itoa(len(s.events) + 1)
	s.leases[lease.Name] = lease
	s.events = append(s.events, leaseEvent{what, *lease})
	close(s.changed)
	s.changed = make(chan struct{})
	return lease
}

// watch sends everything after a version until the request ends.
func (s *leaseServer) watch(r *http.Request) (*http.Response, error) {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		return nil, err
	}
	version, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if err != nil {
		return nil, err
	}
	reader, writer := io.Pipe()
	context.AfterFunc(r.Context(), func() { _ = writer.CloseWithError(r.Context().Err()) })
	go func() {
		encoder := json.NewEncoder(writer)
		for ; ; version++ {
			event, err := s.event(r.Context(), version)
			if err != nil {
				return
			}
			if selector.Matches(labels.Set(event.Object.Labels)) && encoder.Encode(event) != nil {
				return
			}
		}
	}()
	return respond(r, http.StatusOK, reader), nil
}

// event waits for the event after a version.
func (s *leaseServer) event(ctx context.Context, version int) (leaseEvent, error) {
	for {
		s.mu.Lock()
		events, changed := s.events, s.changed
		s.mu.Unlock()
		if version < len(events) {
			return events[version], latency(ctx)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return leaseEvent{}, ctx.Err()
		}
	}
}
