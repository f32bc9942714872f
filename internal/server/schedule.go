// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/trigger/cron"
)

// nextTimes is how many of the next times of a schedule the page shows.
const nextTimes = 5

// maxCron is the bound of spec.schedule.cron.
const maxCron = 128

type scheduleResponse struct {
	Words string      `json:"words"`
	Next  []time.Time `json:"next"`
}

// schedule describes a schedule in words, with its next times, as the operator would fire it.
func (s *site) schedule(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	if _, err := s.authenticate(r.Context(), config); err != nil {
		writeError(w, err)
		return
	}
	spec := v1beta1.TriggerSchedule{Cron: r.FormValue("cron"), TimeZone: r.FormValue("timeZone")}
	if len(spec.Cron) > maxCron || len(spec.TimeZone) > maxCron {
		writeError(w, apierrors.NewBadRequest("The schedule is too long."))
		return
	}
	parsed, err := cron.Parse(spec)
	if err != nil {
		writeError(w, apierrors.NewBadRequest(err.Error()))
		return
	}
	answer := scheduleResponse{Words: cron.Describe(spec)}
	for next := parsed.Next(time.Now()); !next.IsZero() && len(answer.Next) < nextTimes; next = parsed.Next(next) {
		answer.Next = append(answer.Next, next)
	}
	writeJSON(w, http.StatusOK, answer)
}
