// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxEvents is how many of the newest Events of an object the page shows.
const maxEvents = 50

// eventView is an Event as the page shows it.
type eventView struct {
	Type    string    `json:"type"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Count   int32     `json:"count"`
	Time    time.Time `json:"time"`
}

// events returns the newest Events of the object with a UID, as far as the person may list them.
func (s *site) events(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	namespace, uid := r.PathValue("namespace"), r.FormValue("uid")
	if len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Label(uid)) > 0 {
		writeError(w, apierrors.NewBadRequest("Name a namespace and the UID of an object."))
		return
	}
	api, err := newClient(config)
	if err != nil {
		writeError(w, err)
		return
	}
	var list corev1.EventList
	if err := api.List(r.Context(), &list, client.InNamespace(namespace), client.MatchingFields{"involvedObject.uid": uid}, client.Limit(pageSize)); err != nil {
		writeError(w, err)
		return
	}
	shown := make([]eventView, 0, len(list.Items))
	for _, e := range list.Items {
		shown = append(shown, eventView{Type: e.Type, Reason: e.Reason, Message: e.Message, Count: max(1, e.Count, seriesOf(&e).Count), Time: timeOf(&e)})
	}
	slices.SortStableFunc(shown, func(a, b eventView) int { return b.Time.Compare(a.Time) })
	writeJSON(w, http.StatusOK, map[string]any{"items": shown[:min(len(shown), maxEvents)]})
}

func seriesOf(e *corev1.Event) corev1.EventSeries {
	if e.Series == nil {
		return corev1.EventSeries{}
	}
	return *e.Series
}

// timeOf returns when an Event was last seen. Programs fill in different fields.
func timeOf(e *corev1.Event) time.Time {
	return slices.MaxFunc([]time.Time{seriesOf(e).LastObservedTime.Time, e.LastTimestamp.Time, e.EventTime.Time, e.CreationTimestamp.Time}, time.Time.Compare)
}
