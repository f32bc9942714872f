// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/follow"
	"github.com/nestor-dev/nestor/internal/client/history"
)

// transcriptSource is a source of a stream: the entries of one agent and the deltas of its model's reply.
type transcriptSource struct {
	namespace, name string
	tail            int // number of newest entries to start with
	config          *rest.Config
	out             *eventBuffer
	retry           retryPolicy
}

func (t *transcriptSource) source() string { return "transcript@" + t.namespace + "/" + t.name }

// follow sends every entry after position until the agent has ended, ctx ends, or access is denied.
func (t *transcriptSource) follow(ctx context.Context, position string) error {
	query := history.Query{Tail: int64(t.tail), Deltas: true}
	if since, err := strconv.ParseInt(position, 10, 64); err == nil {
		query = history.Query{Since: since, Deltas: true}
	}
	config := rest.CopyConfig(t.config)
	config.Timeout = 0 // it lasts as long as the agent; ctx ends it
	transcript := follow.Transcript{
		Reader: history.NewReader(config, nil, t.namespace), Name: t.name, Query: query, Wait: t.retry.wait,
		OnError: func(err error) error { return t.sendError(ctx, err) },
	}
	err := transcript.Follow(ctx, func(e historyv1.Entry) error { return t.send(ctx, e) })
	switch {
	case err == nil:
		return t.out.put(ctx, event{name: "ended", data: encode(map[string]string{"transcript": t.name})})
	case history.IsUnreadable(err):
		return t.sendError(ctx, err)
	}
	return err
}

// send sends an entry. Deltas do not change the position: a page that reconnects gets them again.
func (t *transcriptSource) send(ctx context.Context, entry historyv1.Entry) error {
	e := event{name: "transcript", key: t.source(), data: encode(t.name), parts: [][]byte{encode(entry)}}
	if entry.Kind != historyv1.EntryDelta {
		e.source, e.position = t.source(), strconv.FormatInt(entry.Seq, 10)
	}
	return t.out.put(ctx, e)
}

func (t *transcriptSource) sendError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	name := "trouble"
	switch {
	case history.IsUnreadable(err):
		name = "refused"
	case apierrors.IsNotFound(err):
		name = "absent"
	}
	return t.out.put(ctx, event{name: name, key: name + "/" + t.source(), data: encode(struct {
		Transcript string        `json:"transcript"`
		Status     metav1.Status `json:"status"`
	}{t.name, statusOf(err)})})
}
