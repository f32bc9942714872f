// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// pageSize is the number of objects per list request.
const pageSize = 500

// objectSource is a source of a stream: the objects of one kind and their changes.
type objectSource struct {
	name      string // of its position; empty if the page cannot resume from it
	resource  string // in events
	namespace string // in events, of a source of the inbox
	user      string // who reads the events
	selector  metav1.ListOptions
	shorten   func(*unstructured.Unstructured) // removes what the page does not show; nil keeps everything
	client    objectReader
	out       *eventBuffer
	retry     retryPolicy
	display   *displaySource // gets the objects, too; nil for none
}

// objectReader lists and watches objects of one kind.
type objectReader interface {
	List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

func nestorResource(resource string) schema.GroupVersionResource {
	return v1beta1.GroupVersion.WithResource(resource)
}

// follow sends everything after position until ctx ends or access is denied. Without a position, or if the API server
// has expired it, it starts with a list. A display needs one in any case: then only its changes since position are sent.
func (o *objectSource) follow(ctx context.Context, position string) error {
	if o.display != nil && position != "" {
		reached, err := o.list(ctx, position)
		if position = reached; err != nil {
			position = "" // the list that follows reports it
		}
	}
	for failures := 0; ctx.Err() == nil; {
		reached, err := o.listAndWatch(ctx, position)
		if reached != position {
			position, failures = reached, 0
		}
		switch {
		case err == nil: // watches expire regularly
		case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
			position = ""
		case isPermanent(err):
			return o.sendError(ctx, "refused", err)
		default:
			failures++
			if err := o.sendError(ctx, "trouble", err); err != nil {
				return err
			}
		}
		if !o.retry.wait(ctx, failures) {
			return ctx.Err()
		}
	}
	return ctx.Err()
}

// listAndWatch lists if necessary and watches until the watch ends. It returns the position that it reached.
func (o *objectSource) listAndWatch(ctx context.Context, position string) (string, error) {
	if position == "" {
		var err error
		if position, err = o.list(ctx, ""); err != nil {
			return "", err
		}
	}
	options := o.selector
	options.ResourceVersion, options.AllowWatchBookmarks = position, true
	watching, err := o.client.Watch(ctx, options)
	if err != nil {
		return position, err
	}
	defer watching.Stop()
	for {
		select {
		case <-ctx.Done():
			return position, ctx.Err()
		case change, ok := <-watching.ResultChan():
			if !ok {
				return position, nil
			}
			if position, err = o.handleChange(ctx, change, position); err != nil {
				return position, err
			}
		}
	}
}

// list sends all objects: "reset", the objects, and "synced". Only then can the page resume from here. Of the objects that the page has, which
// are not newer than since, it sends only the UID.
func (o *objectSource) list(ctx context.Context, since string) (string, error) {
	options := o.selector
	options.Limit = pageSize
	o.display.begin(o.resource)
	begun := false
	for {
		objects, err := o.client.List(ctx, options)
		if err != nil {
			return "", err
		}
		if !begun {
			begun = true
			if err := o.out.put(ctx, o.positionEvent("reset", "")); err != nil {
				return "", err
			}
		}
		for i := range objects.Items {
			if err := o.out.put(ctx, o.listed(&objects.Items[i], since)); err != nil {
				return "", err
			}
		}
		if objects.GetContinue() == "" {
			o.display.complete(o.resource)
			return objects.GetResourceVersion(), o.out.put(ctx, o.positionEvent("synced", objects.GetResourceVersion()))
		}
		options.Continue = objects.GetContinue()
	}
}

// listed returns the event for an object of a list.
func (o *objectSource) listed(object *unstructured.Unstructured, since string) event {
	if order, err := resourceversion.CompareResourceVersion(object.GetResourceVersion(), since); since == "" || err != nil || order > 0 {
		return o.object(watch.Added, object, "")
	}
	o.display.put(o.resource, watch.Added, object)
	known := &unstructured.Unstructured{Object: map[string]any{}}
	known.SetUID(object.GetUID())
	return event{name: "object", data: encode(map[string]any{"resource": o.resource, "type": "KNOWN", "object": known.Object})}
}

// handleChange sends a change and returns the position after it.
func (o *objectSource) handleChange(ctx context.Context, change watch.Event, position string) (string, error) {
	if change.Type == watch.Error {
		return position, apierrors.FromObject(change.Object)
	}
	object, ok := change.Object.(*unstructured.Unstructured)
	if !ok {
		return position, fmt.Errorf("watch %s: unexpected %T", o.resource, change.Object)
	}
	reached := object.GetResourceVersion()
	if change.Type == watch.Bookmark {
		bookmark := o.positionEvent("synced", reached)
		bookmark.key = "bookmark/" + o.resource + "@" + o.namespace
		return reached, o.out.put(ctx, bookmark)
	}
	return reached, o.out.put(ctx, o.object(change.Type, object, reached))
}

// object returns the event for a change, without managedFields, which are long and of no use to the page.
func (o *objectSource) object(change watch.EventType, object *unstructured.Unstructured, position string) event {
	object.SetManagedFields(nil)
	o.display.put(o.resource, change, object)
	if o.shorten != nil {
		o.shorten(object)
	}
	data := encode(struct {
		Resource  string          `json:"resource"`
		Namespace string          `json:"namespace,omitempty"`
		Type      watch.EventType `json:"type"`
		Object    any             `json:"object"`
		row
	}{o.resource, o.namespace, change, object.Object, rowOf(o.resource, o.user, object)})
	e := event{name: "object", key: o.resource + "/" + string(object.GetUID()), data: data}
	if position != "" && o.name != "" {
		e.source, e.position = o.name, position
	}
	return e
}

func (o *objectSource) positionEvent(name, position string) event {
	e := event{name: name, data: encode(struct {
		Resource  string `json:"resource"`
		Namespace string `json:"namespace,omitempty"`
	}{o.resource, o.namespace})}
	if position != "" && o.name != "" {
		e.source, e.position = o.name, position
	}
	return e
}

func (o *objectSource) sendError(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	o.display.complete(o.resource)
	return o.out.put(ctx, event{name: name, key: name + "/" + o.resource + "@" + o.namespace, data: encode(struct {
		Resource  string        `json:"resource"`
		Namespace string        `json:"namespace,omitempty"`
		Status    metav1.Status `json:"status"`
	}{o.resource, o.namespace, statusOf(err)})})
}

// isPermanent reports whether a retry is useless: access is denied, the person is signed out, or the resource does not
// exist.
func isPermanent(err error) bool {
	var apiErr apierrors.APIStatus
	if !errors.As(err, &apiErr) {
		return false
	}
	switch apiErr.Status().Code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusBadRequest, http.StatusMethodNotAllowed:
		return true
	}
	return false
}

// encode marshals a value that always marshals.
func encode(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("encode an event: %v", err))
	}
	return data
}

// retryPolicy has the intervals for retries and for reviews of a stream's token.
type retryPolicy struct {
	first, max time.Duration
	review     time.Duration
}

func defaultRetryPolicy() retryPolicy {
	return retryPolicy{first: 500 * time.Millisecond, max: 20 * time.Second, review: 15 * time.Second}
}

// wait waits longer with every failure. It returns false if ctx ends first.
func (p retryPolicy) wait(ctx context.Context, failures int) bool {
	delay := p.first << min(failures, 10)
	timer := time.NewTimer(min(delay, p.max))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
