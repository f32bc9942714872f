// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package endpoint_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/validation"
	"github.com/nestor-dev/nestor/internal/validation/endpoint"
)

type catalogs func(ctx context.Context) (validation.Catalog, error)

func (c catalogs) Of(ctx context.Context, _ string, _ runtime.Object) (validation.Catalog, error) {
	return c(ctx)
}

func complete(context.Context) (validation.Catalog, error) {
	return validation.Catalog{Missing: map[validation.Reference]string{{Field: "spec.task.role", Kind: "AgentRole", Name: "poet"}: "Create it."}}, nil
}

func trigger(cron string) string {
	return `{"apiVersion":"nestor.dev/v1beta1","kind":"AgentTrigger","metadata":{"name":"t","namespace":"team"},` +
		`"spec":{"schedule":{"cron":"` + cron + `"},"task":{"role":"poet","instruction":"Write."}}}`
}

func ask(t *testing.T, handler http.Handler, request admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	t.Helper()
	request.UID, request.Namespace = "1", "team"
	body, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: &request,
	})
	if err != nil {
		t.Fatal(err)
	}
	sent := httptest.NewRequestWithContext(t.Context(), http.MethodPost, endpoint.Path, bytes.NewReader(body))
	sent.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, sent)
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(recorder.Body.Bytes(), &review); err != nil || review.Response == nil {
		t.Fatalf("status %d: %s (%v)", recorder.Code, recorder.Body, err)
	}
	return review.Response
}

func create(kind, object string) admissionv1.AdmissionRequest {
	return admissionv1.AdmissionRequest{Operation: admissionv1.Create, Kind: metav1.GroupVersionKind{Group: "nestor.dev", Version: "v1beta1", Kind: kind},
		Object: runtime.RawExtension{Raw: []byte(object)}}
}

func handlerWith(t *testing.T, c catalogs) http.Handler {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return endpoint.New(scheme, c)
}

func TestAnswers(t *testing.T) {
	update := create("AgentTrigger", trigger("0 7"))
	update.Operation, update.OldObject = admissionv1.Update, runtime.RawExtension{Raw: []byte(trigger("0 7"))}
	for name, c := range map[string]struct {
		request  admissionv1.AdmissionRequest
		catalogs catalogs
		allowed  bool
		warnings int
	}{
		"a good trigger without its role": {create("AgentTrigger", trigger("0 7 * * *")), complete, true, 1},
		"a bad trigger":                   {create("AgentTrigger", trigger("0 7")), complete, false, 1},
		"a trigger that was bad":          {update, complete, true, 2},
		"references that cannot be read": {create("AgentTrigger", trigger("0 7")), func(context.Context) (validation.Catalog, error) {
			return validation.Catalog{}, errors.New("no cache")
		}, false, 0},
		"a panic": {create("AgentTrigger", trigger("0 7")), func(context.Context) (validation.Catalog, error) { panic("broken") }, true, 0},
		"a lookup that hangs": {create("AgentTrigger", trigger("0 7")), func(ctx context.Context) (validation.Catalog, error) {
			<-ctx.Done()
			<-t.Context().Done() // the answer does not wait for the end
			return validation.Catalog{}, nil
		}, true, 0},
		"another kind": {create("AgentQuota", `{}`), complete, true, 0},
		"garbage":      {create("AgentTrigger", `[]`), complete, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := ask(t, handlerWith(t, c.catalogs), c.request)
			if got.Allowed != c.allowed || len(got.Warnings) != c.warnings {
				t.Errorf("allowed %v, warnings %q, result %+v", got.Allowed, got.Warnings, got.Result)
			}
			if !c.allowed && strings.Contains(got.Result.Details.Causes[0].Message, "spec.") {
				t.Errorf("the cause repeats its field: %q", got.Result.Details.Causes[0].Message)
			}
			if !c.allowed && (got.Result.Code != http.StatusUnprocessableEntity || got.Result.Details.Causes[0].Field != "spec.schedule.cron" ||
				!strings.HasPrefix(got.Result.Message, "spec.schedule.cron: ")) {
				t.Errorf("it is refused with %+v", got.Result)
			}
		})
	}
}

// TestBusyJudgesAdmit: while others are judged for longer than their time, no request waits for more than its own.
func TestBusyJudgesAdmit(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	handler := handlerWith(t, func(context.Context) (validation.Catalog, error) {
		<-release // regardless of the context, as the compilation of an expression
		return validation.Catalog{}, nil
	})
	for i := range 4 {
		if got := ask(t, handler, create("AgentTrigger", trigger("0 7"))); !got.Allowed {
			t.Errorf("request %d: %+v", i, got.Result)
		}
	}
}
