// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// calls is the subresource transcripts/calls: the calls of an agent as policies judge them.
type calls struct {
	storage
	transcripts *transcripts
}

func (c *calls) NewGetOptions() (runtime.Object, bool, string) {
	return &api.TranscriptCallsOptions{}, false, ""
}

func (c *calls) Get(ctx context.Context, name string, options runtime.Object) (runtime.Object, error) {
	page, ok := options.(*api.TranscriptCallsOptions)
	if !ok {
		return nil, apierrors.NewInternalError(fmt.Errorf("options of type %T", options))
	}
	run, err := c.transcripts.find(ctx, genericapirequest.NamespaceValue(ctx), name)
	if err != nil {
		return nil, err
	}
	limit := page.Limit
	if limit == 0 {
		limit = defaultEntries
	}
	var from time.Time
	if page.SinceTime != nil {
		from = page.SinceTime.Time
	}
	moments, next, err := c.transcripts.reader.Calls(ctx, run.UID, page.Since, from, int(min(limit, ledger.MaxLimit)))
	if err != nil {
		return nil, statusError(err)
	}
	if err := c.addRequesters(ctx, run, moments); err != nil {
		return nil, statusError(err)
	}
	text := transcriptOf(run)
	object := &api.TranscriptCalls{ObjectMeta: text.ObjectMeta, Agent: text.Agent, Moments: moments}
	object.Name = name
	if next > 0 {
		object.Next = &next
	}
	if run.Kind == "AgentTask" && run.Parent != "" {
		caller, err := c.transcripts.ledger.Agent(ctx, run.Parent)
		if err != nil && !errors.Is(err, ledger.ErrNotFound) {
			return nil, statusError(err)
		}
		object.CallerRole = caller.Role
	}
	return object, nil
}

// addRequesters adds the people who had requested the work at each moment, as far as the record of the root of the tree has them.
func (c *calls) addRequesters(ctx context.Context, run ledger.Run, moments []api.CallMoment) error {
	times := make([]time.Time, len(moments))
	for i, m := range moments {
		times[i] = m.Time.Time
	}
	requesters, err := c.transcripts.reader.Requesters(ctx, run.Root, times)
	if errors.Is(err, ledger.ErrNotFound) || errors.Is(err, ledger.ErrPruned) {
		return nil
	}
	if err != nil {
		return err
	}
	for i, r := range requesters {
		moments[i].Requesters = &api.CallRequesters{Users: r.Users, Unknown: r.Unknown}
	}
	return nil
}
