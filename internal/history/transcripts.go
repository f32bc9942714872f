// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/history/transcript"
	"github.com/nestor-dev/nestor/internal/ledger"
)

const (
	// defaultEntries is the page size of a request without a limit.
	defaultEntries = 500
	transcriptHint = "a transcript is named chat.NAME, subagent.NAME or task.NAME, and that of a deleted agent chat.NAME.UID; list transcripts to see their names"
)

type transcripts struct {
	namespaced
	ledger     Ledger
	reader     *transcript.Reader
	authorizer authorizer.Authorizer
}

func (t *transcripts) ShortNames() []string { return []string{"atrans"} }

func (t *transcripts) NewGetOptions() (runtime.Object, bool, string) {
	return &api.TranscriptOptions{}, false, ""
}

// Get returns a transcript with a page of its entries.
func (t *transcripts) Get(ctx context.Context, name string, options runtime.Object) (runtime.Object, error) {
	page, ok := options.(*api.TranscriptOptions)
	if !ok {
		return nil, apierrors.NewInternalError(fmt.Errorf("options of type %T", options))
	}
	run, err := t.find(ctx, genericapirequest.NamespaceValue(ctx), name)
	if err != nil {
		return nil, err
	}
	cursor, err := t.open(ctx, run, page.Since, page.Tail)
	if err != nil {
		return nil, err
	}
	limit := page.Limit
	if limit == 0 {
		limit = max(defaultEntries, page.Tail)
	}
	entries, more, err := cursor.Read(ctx, int(min(limit, ledger.MaxLimit)))
	if err != nil {
		return nil, statusError(err)
	}
	object := transcriptOf(run)
	object.Name, object.Entries = name, entries
	if more {
		seq := cursor.Seq()
		object.Next = &seq
	}
	return &object, nil
}

// open returns a cursor at the requested position.
func (t *transcripts) open(ctx context.Context, run ledger.Run, since, tail int64) (*transcript.Cursor, error) {
	if tail > 0 {
		cursor, err := t.reader.Tail(ctx, run.UID, run.LastSeq, int(min(tail, defaultListLimit)))
		return cursor, statusError(err)
	}
	cursor, err := t.reader.Open(ctx, run.UID, since)
	return cursor, statusError(err)
}

func (t *transcripts) find(ctx context.Context, namespace, transcriptName string) (ledger.Run, error) {
	kind, name, uid, ok := api.ParseTranscriptName(transcriptName)
	if !ok {
		return ledger.Run{}, notFound("transcripts", transcriptName, transcriptHint)
	}
	filter := ledger.AgentFilter{Scope: ledger.Scope{Namespace: namespace}, Kind: kind, Name: name, UID: uid, Newest: uid == ""}
	runs, err := t.ledger.Runs(ctx, filter, ledger.Page{Limit: 1})
	if err != nil {
		return ledger.Run{}, statusError(err)
	}
	if len(runs.Items) == 0 {
		return ledger.Run{}, notFound("transcripts", transcriptName, "")
	}
	return runs.Items[0], nil
}

// List lists transcripts without their entries.
func (t *transcripts) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	a, err := parseListOptions(genericapirequest.NamespaceValue(ctx), options)
	if err != nil {
		return nil, err
	}
	if text, ok := a.fields[api.FieldTranscriptSearch]; ok {
		return t.search(ctx, a, text)
	}
	a.scope.Root = a.fields[api.FieldTranscriptRoot]
	filter := ledger.AgentFilter{
		Kind: a.fields[api.FieldTranscriptKind], Name: a.fields[api.FieldTranscriptName], Live: a.fields[api.FieldTranscriptLive] == "true",
	}
	if name, ok := a.fields[api.FieldName]; ok {
		var known bool
		filter.Kind, filter.Name, filter.UID, known = api.ParseTranscriptName(name)
		filter.Newest = filter.UID == ""
		a.contradictory = a.contradictory || !known
	}
	filter.Scope = a.scope
	runs, next, err := readPages(a, func(page ledger.Page) (ledger.List[ledger.Run], error) { return t.ledger.Runs(ctx, filter, page) })
	if err != nil {
		return nil, err
	}
	list := &api.TranscriptList{ListMeta: metav1.ListMeta{Continue: next}, Items: make([]api.Transcript, len(runs))}
	for i, run := range runs {
		list.Items[i] = transcriptOf(run)
	}
	return list, nil
}

// transcriptOf returns a transcript without entries.
func transcriptOf(r ledger.Run) api.Transcript {
	name := api.TranscriptName(r.Kind, r.Name)
	if r.Superseded {
		name += "." + r.UID
	}
	t := api.Transcript{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: r.Namespace, UID: types.UID(r.UID), CreationTimestamp: metav1.NewTime(r.CreatedAt), Labels: labels(r.Chat, r.Role),
		},
		Agent: api.TranscriptAgent{
			Kind: r.Kind, Name: r.Name, UID: types.UID(r.UID), Parent: types.UID(r.Parent), Root: types.UID(r.Root), Chat: r.Chat, Role: r.Role, RoleRevision: r.RoleRevision,
			Depth: int32(r.Depth), ModelProvider: r.Provider, Model: r.Model,
		},
		Status: api.TranscriptStatus{
			Phase: phaseOf(r.Status), ErrorKind: r.ErrorKind, LastSeq: r.LastSeq, StartTime: metav1.NewMicroTime(r.CreatedAt), ToolCalls: r.Tools,
		},
	}
	if !r.Live() {
		ended := metav1.NewMicroTime(r.FinishedAt)
		t.Status.CompletionTime = &ended
	}
	if r.Models.Total > 0 {
		used := callUsage(r.Models)
		t.Status.Usage = &used
	}
	return t
}

func phaseOf(s ledger.Status) api.Phase {
	if s == ledger.StatusRunning {
		return api.PhaseLive
	}
	return api.Phase(s)
}
