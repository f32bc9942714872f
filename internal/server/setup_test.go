// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestScheduleInWordsWithNextTimes(t *testing.T) {
	t.Parallel()
	got := ask(t, newUpstream(t).tokenSite(), http.MethodGet, "/api/schedule?timeZone=Europe/Berlin&cron="+url.QueryEscape("0 7 * * 1-5"), nil)
	var answer scheduleResponse
	if err := json.Unmarshal(got.Body.Bytes(), &answer); err != nil || answer.Words != "Monday to Friday at 07:00 (Europe/Berlin)" || len(answer.Next) != nextTimes {
		t.Fatalf("got %d %s", got.Code, got.Body)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for i, next := range answer.Next {
		if next.In(berlin).Hour() != 7 || i > 0 && !next.After(answer.Next[i-1]) {
			t.Errorf("times %v", answer.Next)
		}
	}
	for _, wrong := range []string{"never", "TZ=UTC", "TZ=UTC 0 7 * * *"} {
		got := ask(t, newUpstream(t).tokenSite(), http.MethodGet, "/api/schedule?cron="+url.QueryEscape(wrong), nil)
		if got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), "spec.schedule.cron") {
			t.Errorf("%q: %d %s", wrong, got.Code, got.Body)
		}
	}
}

func TestEventsOfAnObject(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.denied = "/events"
	if got := ask(t, u.tokenSite(), http.MethodGet, "/api/namespaces/default/events?uid=one", nil); got.Code != http.StatusForbidden {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
	if got := u.last(t); got.URL.Path != "/api/v1/namespaces/default/events" || got.URL.Query().Get("fieldSelector") != "involvedObject.uid=one" || got.Header.Get("Authorization") != "Bearer "+knownToken {
		t.Errorf("sent %s %v", got.URL, got.Header)
	}
	if got := ask(t, u.tokenSite(), http.MethodGet, "/api/namespaces/default/events?uid=a,b=c", nil); got.Code != http.StatusBadRequest {
		t.Errorf("a wrong UID: %d", got.Code)
	}
	at := func(second int64) metav1.Time { return metav1.NewTime(time.Unix(second, 0)) }
	for want, e := range map[int64]corev1.Event{
		1: {ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(1)}},
		2: {ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(1)}, LastTimestamp: at(2)},
		3: {EventTime: metav1.NewMicroTime(time.Unix(1, 0)), Series: &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(time.Unix(3, 0))}},
	} {
		if got := timeOf(&e); got.Unix() != want {
			t.Errorf("%+v is of %d, want %d", e, got.Unix(), want)
		}
	}
}

func TestSecretIsCreatedAsThePerson(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	paste := func(body string) int {
		return ask(t, u.tokenSite(), http.MethodPost, "/api/namespaces/default/secrets", func(r *http.Request) {
			r.Body = io.NopCloser(strings.NewReader(body))
		}).Code
	}
	u.denied = "/secrets"
	if got := paste(`{"name":"openai","key":"api-key","value":"sk-1"}`); got != http.StatusForbidden {
		t.Errorf("got %d", got)
	}
	if got := u.last(t); got.URL.Path != "/api/v1/namespaces/default/secrets" || got.Header.Get("Authorization") != "Bearer "+knownToken {
		t.Errorf("sent %s %v", got.URL, got.Header)
	}
	for _, body := range []string{`{}`, `{"name":"../x","key":"k","value":"v"}`, `{"name":"x","key":"a/b","value":"v"}`, `{"name":"x","key":"k","value":""}`, `no`} {
		if got := paste(body); got != http.StatusBadRequest {
			t.Errorf("%s: got %d", body, got)
		}
	}
}
