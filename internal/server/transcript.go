// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
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
	for failures := 0; ctx.Err() == nil; {
		before := position
		ended, err := t.readUntilDisconnect(ctx, &position)
		if ended {
			return t.out.put(ctx, event{name: "ended", data: encode(map[string]string{"transcript": t.name})})
		}
		if position != before {
			failures = 0
		}
		failures++
		if err != nil {
			if err := t.sendError(ctx, err); err != nil {
				return err
			}
			if isPermanent(err) && !isNotStarted(err) {
				return nil
			}
		}
		if !t.retry.wait(ctx, failures) {
			return ctx.Err()
		}
	}
	return ctx.Err()
}

// readUntilDisconnect follows until the connection ends, and reports whether the agent has ended.
func (t *transcriptSource) readUntilDisconnect(ctx context.Context, position *string) (ended bool, err error) {
	body, err := t.open(ctx, *position)
	if err != nil {
		return false, err
	}
	defer body.Close()
	lines := bufio.NewReaderSize(body, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 && err == nil {
			done, err := t.handleLine(ctx, line, position)
			if err != nil {
				return false, err
			}
			ended = ended || done
		}
		if errors.Is(err, io.EOF) {
			return ended, nil
		}
		if err != nil {
			return ended, fmt.Errorf("read the transcript of %s: %w", t.name, err)
		}
	}
}

// open starts to follow after position.
func (t *transcriptSource) open(ctx context.Context, position string) (io.ReadCloser, error) {
	client, err := rest.HTTPClientFor(t.config)
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	server, _, err := rest.DefaultServerUrlFor(t.config)
	if err != nil {
		return nil, fmt.Errorf("find the API server: %w", err)
	}
	query := url.Values{"follow": {"true"}}
	if position != "" {
		query.Set("since", position)
	} else {
		query.Set("tail", strconv.Itoa(t.tail))
	}
	address := server.JoinPath(historyPrefix, "namespaces", t.namespace, "transcripts", t.name, "log")
	address.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("ask for the transcript of %s: %w", t.name, err)
	}
	client.Timeout = 0 // it lasts as long as the agent; ctx ends it
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask for the transcript of %s: %w", t.name, err)
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	defer response.Body.Close()
	return nil, responseError(response, t.name)
}

// responseError returns the API server's error response as an error.
func responseError(response *http.Response, name string) error {
	var status metav1.Status
	body, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10)) // the status code suffices without a body
	if json.Unmarshal(body, &status) == nil && status.Kind == "Status" {
		return &apierrors.StatusError{ErrStatus: status}
	}
	resource := schema.GroupResource{Group: "history.nestor.dev", Resource: "transcripts"}
	return apierrors.NewGenericServerResponse(response.StatusCode, "get", resource, name, strings.TrimSpace(string(body)), 0, true)
}

// isNotStarted distinguishes a transcript that has not started from a history API that is not served.
func isNotStarted(err error) bool {
	var apiErr apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &apiErr) && apiErr.Status().Details != nil && apiErr.Status().Details.Name != "" && len(apiErr.Status().Details.Causes) == 0
}

// handleLine sends an entry. Deltas do not change the position: a page that reconnects gets them again.
func (t *transcriptSource) handleLine(ctx context.Context, line []byte, position *string) (ended bool, err error) {
	var entry struct {
		Seq     int64           `json:"seq"`
		Kind    string          `json:"kind"`
		Outcome json.RawMessage `json:"outcome"`
	}
	if err := json.Unmarshal(line, &entry); err != nil {
		return false, fmt.Errorf("read an entry of the transcript of %s: %w", t.name, err)
	}
	e := event{name: "transcript", key: t.source(), data: encode(t.name), parts: [][]byte{line}}
	if entry.Kind != "Delta" {
		*position = strconv.FormatInt(entry.Seq, 10)
		e.source, e.position = t.source(), *position
	}
	return entry.Outcome != nil, t.out.put(ctx, e)
}

func (t *transcriptSource) sendError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	name := "trouble"
	switch {
	case isNotStarted(err):
		name = "absent"
	case isPermanent(err):
		name = "refused"
	}
	return t.out.put(ctx, event{name: name, key: name + "/" + t.source(), data: encode(struct {
		Transcript string        `json:"transcript"`
		Status     metav1.Status `json:"status"`
	}{t.name, statusOf(err)})})
}
