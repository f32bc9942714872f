// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/history/live"
	"github.com/nestor-dev/nestor/internal/history/transcript"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/streams"
)

// logPage is the number of entries per read.
const logPage = 200

const logType = "application/x-ndjson"

// logs is the subresource transcripts/log. The name matters: the API server exempts a subresource called log from its
// request timeout, as for pods.
type logs struct {
	streamed
	transcripts *transcripts
	live        *live.Hub
	// poll is the interval at which the ledger is read for changes of other replicas.
	poll time.Duration
	// stopping is closed when the server shuts down, so that readers do not block it.
	stopping <-chan struct{}
	// streams limits the followers, and reviewer checks that they are still authorized.
	streams  *streams.Limiter
	reviewer reviewer
}

func (l *logs) NewGetOptions() (runtime.Object, bool, string) {
	return &api.TranscriptLogOptions{}, false, ""
}

// Get returns a stream. Everything that can be rejected is rejected before it starts.
func (l *logs) Get(ctx context.Context, name string, options runtime.Object) (runtime.Object, error) {
	wanted, ok := options.(*api.TranscriptLogOptions)
	if !ok {
		return nil, apierrors.NewInternalError(fmt.Errorf("options of type %T", options))
	}
	namespace := genericapirequest.NamespaceValue(ctx)
	run, err := l.transcripts.find(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	s := &stream{logs: l, namespace: namespace, name: name, uid: run.UID, options: *wanted}
	if wanted.Follow && (wanted.Deltas == nil || *wanted.Deltas) {
		s.deltas = true
	}
	s.cursor, err = l.transcripts.open(ctx, run, wanted.Since, wanted.Tail)
	return s, err
}

// stream writes the log of one request. It is a runtime.Object because storage must return one.
type stream struct {
	logs *logs
	// namespace and name are those of the transcript.
	namespace, name string

	uid     string
	options api.TranscriptLogOptions
	deltas  bool
	cursor  *transcript.Cursor
	// completedCall is the last model call whose end was written; late deltas of it are dropped.
	completedCall string
	// call is the model call whose deltas are being written.
	call string
}

func (s *stream) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object. A stream has only one reader, so nothing is copied.
func (s *stream) DeepCopyObject() runtime.Object { return s }

func (s *stream) InputStream(ctx context.Context, _, _ string) (io.ReadCloser, bool, string, error) {
	release := func() {}
	if s.options.Follow {
		var err error
		if release, err = s.logs.streams.Open(userName(ctx)); err != nil {
			return nil, false, "", err
		}
	}
	reader, writer := io.Pipe()
	go func() {
		defer release()
		err := s.write(ctx, json.NewEncoder(writer))
		if errors.Is(err, context.Canceled) {
			err = nil // the client has disconnected
		}
		_ = writer.CloseWithError(err) // it never fails
	}()
	return reader, true, logType, nil
}

// write writes the existing entries and, if requested, follows until the agent has ended.
func (s *stream) write(ctx context.Context, out *json.Encoder) error {
	if !s.options.Follow {
		return s.writeEntries(ctx, out)
	}
	update := s.logs.live.Follow(s.uid)
	defer update.Close()
	poll := time.NewTicker(s.logs.poll)
	defer poll.Stop()
	review := time.NewTicker(s.logs.reviewer.interval)
	defer review.Stop()
	ended, err := s.catchUp(ctx, out)
	for !ended && err == nil {
		select {
		case <-update.Updates():
			ended, err = s.writeNew(ctx, out, update.Read())
		case <-poll.C:
			ended, err = s.catchUp(ctx, out)
		case <-review.C:
			if !s.logs.reviewer.stillAllowed(ctx, s.namespace, s.name) {
				return nil
			}
		case <-s.logs.stopping:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}

// writeNew writes what is new. Deltas of another call mean that an event precedes them.
func (s *stream) writeNew(ctx context.Context, out *json.Encoder, update live.Update) (ended bool, err error) {
	if update.Changed || update.Call != s.call {
		if ended, err := s.catchUp(ctx, out); ended || err != nil {
			return ended, err
		}
	}
	return false, s.writeDeltas(out, update)
}

// catchUp writes the new entries of the ledger, and reports whether the agent has ended. The latter is read first, so
// that the last entries are not missed.
func (s *stream) catchUp(ctx context.Context, out *json.Encoder) (ended bool, err error) {
	record, err := s.logs.transcripts.ledger.Agent(ctx, s.uid)
	if errors.Is(err, ledger.ErrNotFound) {
		return true, nil // it was pruned
	}
	if err != nil {
		return false, err
	}
	return !record.Live(), s.writeEntries(ctx, out)
}

func (s *stream) writeEntries(ctx context.Context, out *json.Encoder) error {
	left := s.options.Limit
	for {
		limit := int64(logPage)
		if s.options.Limit > 0 {
			limit = min(limit, left)
		}
		entries, more, err := s.cursor.Read(ctx, int(limit))
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := out.Encode(e); err != nil {
				return err
			}
			if e.ModelCall != "" {
				s.completedCall = e.ModelCall
			}
		}
		left -= int64(len(entries))
		if !more || (s.options.Limit > 0 && left == 0) {
			return nil
		}
	}
}
