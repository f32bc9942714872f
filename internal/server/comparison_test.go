// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/rundiff"
)

const comparisonPath = "/api/namespaces/default/comparison?first=subagent.a&second=subagent.b"

func TestRunsAreComparedAsThePerson(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.denied = "/transcripts"
	if got := ask(t, u.tokenSite(), http.MethodGet, comparisonPath, nil); got.Code != http.StatusForbidden {
		t.Errorf("without transcripts: %d %s", got.Code, got.Body)
	}
	if got := u.last(t); !strings.Contains(got.URL.Path, "/transcripts/subagent.a") || got.Header.Get("Authorization") != "Bearer "+knownToken {
		t.Errorf("sent %s %v", got.URL, got.Header)
	}
	if got := ask(t, u.tokenSite(), http.MethodGet, "/api/namespaces/..%2fx/comparison", nil); got.Code != http.StatusBadRequest {
		t.Errorf("a wrong namespace: %d %s", got.Code, got.Body)
	}
}

// A run may have megabytes of texts; a page shows their beginnings, and the differences.
func TestComparisonIsBounded(t *testing.T) {
	t.Parallel()
	run := func(name, end string) rundiff.Run {
		r := rundiff.Run{Transcript: historyv1.Transcript{}}
		r.Transcript.Name = name
		for i := range 2 * maxDetails {
			r.Entries = append(r.Entries, historyv1.Entry{Seq: int64(i + 1), Kind: historyv1.EntryUser, Content: strings.Repeat("ä\n", 20_000) + end})
		}
		return r
	}
	got := responseOf(rundiff.Compare(run("subagent.a", "one"), run("subagent.b", "two")))
	if got.Same || got.FirstDifference != 1 || len(got.Rows) != 2*maxDetails {
		t.Fatalf("got the first difference %d of %d rows", got.FirstDifference, len(got.Rows))
	}
	if detail := got.Rows[0].Details["text"]; !strings.Contains(detail, "+two") || len(detail) > maxStepDiff {
		t.Errorf("the first difference is %q", detail)
	}
	if got.Rows[maxDetails].Details != nil {
		t.Error("every row has its differences")
	}
	for _, row := range got.Rows {
		for _, step := range []*rundiff.Step{row.First, row.Second} {
			if n := utf8.RuneCountInString(step.Text); n > maxStepText {
				t.Fatalf("a text has %d characters", n)
			}
		}
	}
}
