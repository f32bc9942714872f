// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/history/transcript"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/words"
)

const (
	// defaultHits is the size of a page of a search without a limit, and maxHits the maximum: a hit costs more than an item of a list.
	defaultHits = 50
	maxHits     = 200
	// excerptBytes is the approximate size of an excerpt.
	excerptBytes = 240
)

// search lists the transcripts with entries that contain the words. Listing transcripts does not permit reading them, so the user
// must also be allowed to get all those of the namespace. If results were left out instead, the pages would show that there are some.
func (t *transcripts) search(ctx context.Context, a listQuery, text string) (runtime.Object, error) {
	for _, field := range []string{api.FieldName, api.FieldTranscriptKind, api.FieldTranscriptName, api.FieldTranscriptRoot, api.FieldTranscriptLive} {
		if _, ok := a.fields[field]; ok {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("field selector %s cannot be combined with %s", field, api.FieldTranscriptSearch))
		}
	}
	if err := t.checkMayRead(ctx, genericapirequest.NamespaceValue(ctx)); err != nil {
		return nil, err
	}
	if a.limit = min(a.limit, maxHits); a.unlimited {
		a.limit = defaultHits
	}
	query := ledger.SearchQuery{Scope: a.scope, Text: text}
	hits, next, err := readPages(a, func(page ledger.Page) (ledger.List[ledger.SearchHit], error) {
		return t.ledger.Search(ctx, query, page)
	})
	if err != nil {
		return nil, err
	}
	list := &api.TranscriptList{ListMeta: metav1.ListMeta{Continue: next}, Items: make([]api.Transcript, len(hits))}
	for i, hit := range hits {
		list.Items[i] = transcriptOf(hit.Run)
		list.Items[i].Matches, list.Items[i].MatchCount = matches(hit, text), hit.Count
	}
	return list, nil
}

// checkMayRead returns an error unless the user of a request may read all transcripts of a namespace, or of all namespaces.
func (t *transcripts) checkMayRead(ctx context.Context, namespace string) error {
	user, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return apierrors.NewUnauthorized("the request has no user")
	}
	decision, _, err := t.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: user, Verb: "get", Namespace: namespace, APIGroup: api.GroupVersion.Group, APIVersion: api.GroupVersion.Version,
		Resource: "transcripts", ResourceRequest: true,
	})
	if err != nil {
		return apierrors.NewServiceUnavailable("the API server cannot authorize the search")
	}
	if decision != authorizer.DecisionAllow {
		return apierrors.NewForbidden(resource("transcripts"), "", fmt.Errorf("a search by %q needs permission to get all transcripts that it searches, not only to list them", user.GetName()))
	}
	return nil
}

func matches(hit ledger.SearchHit, text string) []api.Match {
	terms := words.Query(text)
	var found []api.Match
	for _, event := range hit.Events {
		kind, content := transcript.SearchText(event)
		match := api.Match{Seq: event.Seq, Time: metav1.NewMicroTime(event.At), Kind: kind, Excerpt: []api.ExcerptPart{}}
		for _, part := range words.Excerpt(content, terms, excerptBytes) {
			match.Excerpt = append(match.Excerpt, api.ExcerptPart{Text: part.Text, Match: part.Match})
		}
		found = append(found, match)
	}
	return found
}
