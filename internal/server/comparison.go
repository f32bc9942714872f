// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/nestor-dev/nestor/internal/client/history"
	"github.com/nestor-dev/nestor/internal/rundiff"
	"github.com/nestor-dev/nestor/internal/shorten"
)

const (
	// comparisonTimeout limits the reading of two runs.
	comparisonTimeout = 20 * time.Second
	// maxStepText is how much of each text of a step the page gets, maxStepDiff how much of each difference. Its lists show one line of a text.
	maxStepText, maxStepDiff = 300, 16 << 10
	// maxDetails is how many steps that differ have their differences.
	maxDetails = 100
)

// comparedRow is a step of either run, with the differences of its fields by lines.
type comparedRow struct {
	rundiff.Row
	Details map[string]string `json:"details,omitempty"`
}

// comparisonResponse is the comparison of two runs.
type comparisonResponse struct {
	rundiff.Comparison
	Rows []comparedRow `json:"rows"`
}

// compare compares the transcripts first and second, with the permissions of the person.
func (s *site) compare(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	namespace := r.PathValue("namespace")
	if err := checkNamespace(namespace); err != nil {
		writeError(w, err)
		return
	}
	api, err := newClient(config)
	if err != nil {
		writeError(w, err)
		return
	}
	// Both runs are in the memory of this process.
	if !s.trials.TryAcquire(1) {
		writeError(w, apierrors.NewTooManyRequests("Others compare runs or try policies at the moment. Try again in a few seconds.", 5))
		return
	}
	defer s.trials.Release(1)
	ctx, cancel := context.WithTimeout(r.Context(), comparisonTimeout)
	defer cancel()
	reader := history.NewReader(config, api, namespace)
	var runs [2]rundiff.Run
	for i, parameter := range []string{"first", "second"} {
		if runs[i], err = reader.Recorded(ctx, r.FormValue(parameter)); err != nil {
			writeError(w, comparisonError(ctx, err))
			return
		}
	}
	writeJSON(w, http.StatusOK, responseOf(rundiff.Compare(runs[0], runs[1])))
}

func comparisonError(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return apierrors.NewTimeoutError("The runs are too long to compare here: kubectl nestor diff compares them.", 0)
	}
	return err
}

func responseOf(c rundiff.Comparison) comparisonResponse {
	response := comparisonResponse{Comparison: c, Rows: make([]comparedRow, len(c.Rows))}
	details := 0
	for i, row := range c.Rows {
		compared := &response.Rows[i]
		if len(row.Differs) > 0 && details < maxDetails {
			details++
			compared.Details = map[string]string{}
			for _, field := range row.Differs {
				compared.Details[field] = shorten.HeadBytes(row.Detail(field), maxStepDiff)
			}
		}
		row.First, row.Second = brief(row.First), brief(row.Second)
		compared.Row = row
	}
	return response
}

// brief returns a step with the beginnings of its texts.
func brief(step *rundiff.Step) *rundiff.Step {
	if step == nil {
		return nil
	}
	short := *step
	for _, text := range []*string{&short.Text, &short.Arguments, &short.Result, &short.Decision} {
		*text = shorten.Head(*text, maxStepText)
	}
	return &short
}
