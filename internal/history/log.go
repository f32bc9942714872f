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

	api "github.com/nestor-dev/nestor/api/history/v1alpha1"
	"github.com/nestor-dev/nestor/internal/history/live"
	"github.com/nestor-dev/nestor/internal/history/transcript"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/streams"
)

// logPage is how many entries a log reads at a time.
const logPage = 200

// logs is the subresource transcripts/log. Its name is not free: the API server lets requests for a subresource called log last
// for as long as they like, as it does for the logs of pods.
type logs struct {
	transcripts *transcripts
	live        *live.Hub
	// poll is how often the ledger is looked at, for what another replica does.
	poll time.Duration
	// stopping is closed when the server ends: it would wait for its readers.
	stopping <-chan struct{}
	// streams counts those who follow, and reviewer asks whether they still may.
	streams  *streams.Limiter
	reviewer reviewer
}

// New implements rest.Storage.
func (l *logs) New() runtime.Object { return &api.Transcript{} }

// Destroy implements rest.Storage.
func (l *logs) Destroy() {}

// NewGetOptions implements rest.GetterWithOptions.
func (l *logs) NewGetOptions() (runtime.Object, bool, string) {
	return &api.TranscriptLogOptions{}, false, ""
}

// ProducesMIMETypes implements rest.StorageMetadata.
func (l *logs) ProducesMIMETypes(string) []string { return []string{"application/x-ndjson"} }

// ProducesObject implements rest.StorageMetadata.
func (l *logs) ProducesObject(string) any { return "" }

// Get returns a stream. What can be refused is refused before it begins.
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

// stream writes the log of one request. It is an object only because storage returns objects.
type stream struct {
	logs *logs
	// namespace and name are those of the transcript.
	namespace, name string

	uid     string
	options api.TranscriptLogOptions
	deltas  bool
	cursor  *transcript.Cursor
	// answered is the model call whose end was written last: late pieces of it are void.
	answered string
	// call is the model call whose pieces are being written.
	call string
}

// GetObjectKind implements runtime.Object.
func (s *stream) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object. There is one reader of a stream, so there is nothing to copy.
func (s *stream) DeepCopyObject() runtime.Object { return s }

// InputStream implements rest.ResourceStreamer.
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
			err = nil // the reader has gone
		}
		_ = writer.CloseWithError(err) // it never fails
	}()
	return reader, true, "application/x-ndjson", nil
}

// write writes what there is and, if it is to follow, what comes until the agent has ended.
func (s *stream) write(ctx context.Context, out *json.Encoder) error {
	if !s.options.Follow {
		return s.writeEntries(ctx, out)
	}
	news := s.logs.live.Follow(s.uid)
	defer news.Close()
	poll := time.NewTicker(s.logs.poll)
	defer poll.Stop()
	review := time.NewTicker(s.logs.reviewer.every)
	defer review.Stop()
	ended, err := s.catchUp(ctx, out)
	for !ended && err == nil {
		select {
		case <-news.Woken():
			ended, err = s.tell(ctx, out, news.News())
		case <-poll.C:
			ended, err = s.catchUp(ctx, out)
		case <-review.C:
			if !s.logs.reviewer.still(ctx, s.namespace, s.name) {
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

// tell writes what is new. Pieces of another call than before mean that there is an event before them.
func (s *stream) tell(ctx context.Context, out *json.Encoder, news live.News) (ended bool, err error) {
	if news.Changed || news.Call != s.call {
		if ended, err := s.catchUp(ctx, out); ended || err != nil {
			return ended, err
		}
	}
	return false, s.writePieces(out, news)
}

// catchUp writes what is in the ledger, and says whether there will be no more. Whether the agent has ended is asked first, so
// that its last words are not missed.
func (s *stream) catchUp(ctx context.Context, out *json.Encoder) (ended bool, err error) {
	record, err := s.logs.transcripts.ledger.Agent(ctx, s.uid)
	if errors.Is(err, ledger.ErrNotFound) {
		return true, nil // retention has taken it
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
				s.answered = e.ModelCall
			}
		}
		left -= int64(len(entries))
		if !more || (s.options.Limit > 0 && left == 0) {
			return nil
		}
	}
}
