// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	webhook "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/nestor-dev/nestor/internal/validation"
)

const (
	// Path is the path of the endpoint.
	Path = "/admission"
	// patience bounds the time for an answer. The API server waits for two seconds.
	patience = time.Second
	// maxParallel bounds how many objects are judged at the same time. A trigger can take seconds to compile, which cannot be interrupted.
	maxParallel = 2
)

// Catalogs looks up what an object refers to.
type Catalogs interface {
	Of(ctx context.Context, namespace string, object runtime.Object) (validation.Catalog, error)
}

type judge struct {
	catalogs Catalogs
	decoder  webhook.Decoder
	slots    chan struct{}
}

// New returns the handler. The scheme has Nestor's kinds.
func New(scheme *runtime.Scheme, catalogs Catalogs) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST "+Path, &webhook.Webhook{
		Handler: &judge{catalogs: catalogs, decoder: webhook.NewDecoder(scheme), slots: make(chan struct{}, maxParallel)},
	})
	return mux
}

// Handle implements webhook.Handler: it answers in time, and admits what could not be judged.
func (j *judge) Handle(ctx context.Context, request webhook.Request) webhook.Response {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case j.slots <- struct{}{}:
	case <-ctx.Done():
		return webhook.Allowed("")
	}
	result := make(chan validation.Verdict, 1)
	go func() {
		defer func() { <-j.slots }()
		result <- j.judge(ctx, request)
	}()
	select {
	case verdict := <-result:
		return response(verdict)
	case <-ctx.Done():
		return webhook.Allowed("")
	}
}

func (j *judge) judge(ctx context.Context, request webhook.Request) (verdict validation.Verdict) {
	log := logf.FromContext(ctx)
	defer func() {
		if cause := recover(); cause != nil {
			log.Error(fmt.Errorf("panic: %v", cause), "Failed to judge an object, admitting it", "stack", string(debug.Stack()))
			verdict = validation.Verdict{}
		}
	}()
	object, old, err := j.decode(request)
	if err != nil || object == nil {
		return validation.Verdict{}
	}
	catalog, err := j.catalogs.Of(ctx, request.Namespace, object)
	if err != nil {
		log.V(1).Info("Cannot look up what an object refers to, judging it without", "reason", err.Error())
		catalog = validation.Catalog{}
	}
	return validation.Judge(object, old, catalog)
}

// decode returns the object and the one that it replaces, which is nil if it is created. An object of a kind that is not judged is nil.
func (j *judge) decode(request webhook.Request) (object, old runtime.Object, err error) {
	if object = validation.New(request.Kind.Kind); object == nil {
		return nil, nil, nil
	}
	if err := j.decoder.Decode(request, object); err != nil {
		return nil, nil, err
	}
	if request.Operation != admissionv1.Update {
		return object, nil, nil
	}
	old = validation.New(request.Kind.Kind)
	return object, old, j.decoder.DecodeRaw(request.OldObject, old)
}

// response refuses an object as the API server refuses an invalid one, with the fields as causes.
func response(verdict validation.Verdict) webhook.Response {
	answer := webhook.Allowed("").WithWarnings(verdict.Warnings...)
	if len(verdict.Errors) == 0 {
		return answer
	}
	answer.Allowed = false
	answer.Result = &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Details: &metav1.StatusDetails{},
	}
	for _, problem := range verdict.Errors {
		answer.Result.Message = problem.Error()
		answer.Result.Details.Causes = append(answer.Result.Details.Causes,
			metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: problem.Field, Message: problem.Message})
	}
	return answer
}
