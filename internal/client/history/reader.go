// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package history reads the aggregated API history.nestor.dev: whole transcripts, streamed or not, and usage.
package history

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/kube"
)

// ErrNotServed means that the cluster does not serve the API, temporarily or at all.
var ErrNotServed = errors.New("the cluster does not serve history.nestor.dev")

// Reader reads the history of a namespace.
type Reader struct {
	config    *rest.Config
	api       client.Client
	namespace string
}

// NewReader returns a reader that uses the identity of config.
func NewReader(config *rest.Config, api client.Client, namespace string) *Reader {
	return &Reader{config, api, namespace}
}

// Usages returns the usage of model calls and runs, filtered by field selectors such as by=Role.
func (r *Reader) Usages(ctx context.Context, by fields.Set) ([]historyv1.Usage, error) {
	var all []historyv1.Usage
	for next := ""; ; {
		var list historyv1.UsageList
		err := r.api.List(ctx, &list, client.InNamespace(r.namespace), client.MatchingFieldsSelector{Selector: by.AsSelector()}, client.Continue(next))
		if err != nil {
			return nil, classify("read the usage", err)
		}
		all = append(all, list.Items...)
		if next = list.Continue; next == "" {
			return all, nil
		}
	}
}

// Search returns the transcripts with entries that contain all words, in a chat if it is not empty, and reports whether there are more
// than limit.
func (r *Reader) Search(ctx context.Context, words, chat string, limit int64) (found []historyv1.Transcript, more bool, err error) {
	var list historyv1.TranscriptList
	options := []client.ListOption{
		client.InNamespace(r.namespace), client.Limit(limit),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector(historyv1.FieldTranscriptSearch, words)},
	}
	if chat != "" {
		options = append(options, client.MatchingLabels{v1beta1.LabelChat: chat})
	}
	if err := r.api.List(ctx, &list, options...); err != nil {
		return nil, false, classify("search", err)
	}
	return list.Items, list.Continue != "", nil
}

// Newest returns the seq of the newest event of a transcript.
func (r *Reader) Newest(ctx context.Context, transcript string) (int64, error) {
	t, err := r.Transcript(ctx, transcript)
	return t.Status.LastSeq, err
}

// Query selects a part of a transcript.
type Query struct {
	Since  int64 // omit entries up to this seq
	Tail   int64 // start with this many of the newest entries instead
	Follow bool  // continue until the agent has ended
	Deltas bool  // include deltas of streamed replies
}

func (q Query) values() url.Values {
	v := url.Values{"follow": {strconv.FormatBool(q.Follow)}, "deltas": {strconv.FormatBool(q.Deltas)}}
	if q.Since > 0 {
		v.Set("since", strconv.FormatInt(q.Since, 10))
	}
	if q.Tail > 0 {
		v.Set("tail", strconv.FormatInt(q.Tail, 10))
	}
	return v
}

// Log calls each with the entries of a transcript, in order. It returns at the end of the transcript, when ctx ends,
// or with the first error of each.
func (r *Reader) Log(ctx context.Context, transcript string, q Query, each func(historyv1.Entry) error) error {
	stream, err := rawClient{r}.stream(ctx, transcript, "log", q.values())
	if err != nil {
		return classify("read the transcript "+transcript, err)
	}
	defer stream.Close()
	for lines := newEntryDecoder(stream); ; {
		var entry historyv1.Entry
		switch err := lines.next(&entry); {
		case errors.Is(err, io.EOF):
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return fmt.Errorf("read the transcript %s: %w", transcript, err)
		}
		if err := each(entry); err != nil {
			return err
		}
	}
}

// classify distinguishes an API that is not served from a transcript that does not exist.
func classify(doing string, err error) error {
	if kube.IsNoSuchAPI(err) {
		return &notServedError{err}
	}
	if apierrors.IsServiceUnavailable(err) {
		return fmt.Errorf("%w for now: %w", ErrNotServed, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// notServedError is ErrNotServed with the API server's error, whose words would only confuse.
type notServedError struct{ cause error }

func (e *notServedError) Error() string   { return ErrNotServed.Error() }
func (e *notServedError) Unwrap() []error { return []error{ErrNotServed, e.cause} }

// IsUnreadable reports whether a transcript cannot be read, now or later: the caller may not read it, or it is not
// served. An object that does not exist yet is not such an error.
func IsUnreadable(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsBadRequest(err) || apierrors.IsMethodNotSupported(err) ||
		errors.Is(err, ErrNotServed) && !apierrors.IsServiceUnavailable(err)
}

// rawClient sends requests that the typed client cannot: streaming subresources and custom query parameters.
type rawClient struct{ *Reader }

func (r rawClient) client() (*rest.RESTClient, error) {
	scheme := runtime.NewScheme()
	if err := historyv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("build the scheme: %w", err)
	}
	config := rest.CopyConfig(r.config)
	version := historyv1.GroupVersion
	config.GroupVersion, config.APIPath = &version, "/apis"
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	return rest.RESTClientFor(config)
}

func (r rawClient) request(transcript, subresource string, query url.Values) (*rest.Request, error) {
	c, err := r.client()
	if err != nil {
		return nil, err
	}
	request := c.Get().Namespace(r.namespace).Resource("transcripts").Name(transcript)
	if subresource != "" {
		request = request.SubResource(subresource)
	}
	for name, values := range query {
		for _, value := range values {
			request = request.Param(name, value)
		}
	}
	return request, nil
}

func (r rawClient) get(ctx context.Context, transcript, subresource string, query url.Values) ([]byte, error) {
	request, err := r.request(transcript, subresource, query)
	if err != nil {
		return nil, err
	}
	response := request.SetHeader("Accept", "application/json").Do(ctx)
	if err := response.Error(); err != nil { // unlike the error of Raw, it has the server's message
		return nil, err
	}
	return response.Raw()
}

func (r rawClient) stream(ctx context.Context, transcript, subresource string, query url.Values) (io.ReadCloser, error) {
	request, err := r.request(transcript, subresource, query)
	if err != nil {
		return nil, err
	}
	return request.Stream(ctx)
}

// Transcripts calls each with the transcripts of the namespace, without their entries, oldest first.
func (r *Reader) Transcripts(ctx context.Context, each func(historyv1.Transcript) error) error {
	for next := ""; ; {
		var list historyv1.TranscriptList
		page := []client.ListOption{client.InNamespace(r.namespace), client.Limit(transcriptPage), client.Continue(next)}
		if err := r.api.List(ctx, &list, page...); err != nil {
			return classify("list the transcripts", err)
		}
		for _, t := range list.Items {
			if err := each(t); err != nil {
				return err
			}
		}
		if next = list.Continue; next == "" {
			return nil
		}
	}
}

const transcriptPage = 500

// Calls calls each with the pages of a transcript's calls. A zero time means all of them.
func (r *Reader) Calls(
	ctx context.Context, transcript string, from time.Time, each func(historyv1.TranscriptCalls) error,
) error {
	query := url.Values{}
	if !from.IsZero() {
		query.Set("sinceTime", from.UTC().Format(time.RFC3339))
	}
	for {
		data, err := rawClient{r}.get(ctx, transcript, "calls", query)
		if err != nil {
			return classify("read the calls of "+transcript, err)
		}
		var page historyv1.TranscriptCalls
		if err := decode(data, &page); err != nil {
			return fmt.Errorf("read the calls of %s: %w", transcript, err)
		}
		if err := each(page); err != nil || page.Next == nil {
			return err
		}
		query.Set("since", strconv.FormatInt(*page.Next, 10))
	}
}

// Transcript returns a transcript with its newest entry only.
func (r *Reader) Transcript(ctx context.Context, name string) (historyv1.Transcript, error) {
	var t historyv1.Transcript
	data, err := rawClient{r}.get(ctx, name, "", url.Values{"tail": {"1"}})
	if err != nil {
		return t, classify("read the transcript "+name, err)
	}
	if err := decode(data, &t); err != nil {
		return t, fmt.Errorf("read the transcript %s: %w", name, err)
	}
	return t, nil
}

// Trace returns all segments of an agent.
func (r *Reader) Trace(ctx context.Context, transcript string) ([]historyv1.Segment, error) {
	var segments []historyv1.Segment
	for query := (url.Values{}); ; {
		data, err := rawClient{r}.get(ctx, transcript, "trace", query)
		if err != nil {
			return nil, classify("read the trace of "+transcript, err)
		}
		var page historyv1.Trace
		if err := decode(data, &page); err != nil {
			return nil, fmt.Errorf("read the trace of %s: %w", transcript, err)
		}
		segments = append(segments, page.Segments...)
		if page.Next == nil {
			return segments, nil
		}
		query.Set("since", strconv.FormatInt(*page.Next, 10))
	}
}
