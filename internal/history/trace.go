// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/history/transcript"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// traces is the subresource transcripts/trace: what an agent did over time.
type traces struct {
	storage
	transcripts *transcripts
}

func (t *traces) NewGetOptions() (runtime.Object, bool, string) {
	return &api.TranscriptTraceOptions{}, false, ""
}

func (t *traces) Get(ctx context.Context, name string, options runtime.Object) (runtime.Object, error) {
	page, ok := options.(*api.TranscriptTraceOptions)
	if !ok {
		return nil, apierrors.NewInternalError(fmt.Errorf("options of type %T", options))
	}
	run, err := t.transcripts.find(ctx, genericapirequest.NamespaceValue(ctx), name)
	if err != nil {
		return nil, err
	}
	limit := page.Limit
	if limit == 0 {
		limit = ledger.MaxLimit
	}
	segments, next, err := t.transcripts.reader.Trace(ctx, run.UID, page.Since, int(min(limit, ledger.MaxLimit)))
	if err != nil {
		return nil, statusError(err)
	}
	object := &api.Trace{ObjectMeta: transcriptOf(run).ObjectMeta, Segments: segments}
	object.Name = name
	switch {
	case next > 0:
		object.Next = &next
	case !run.Live():
		transcript.Close(segments, run.FinishedAt)
	}
	return object, nil
}
