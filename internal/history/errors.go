// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/ledger"
)

func resource(name string) schema.GroupResource {
	return schema.GroupResource{Group: api.GroupVersion.Group, Resource: name}
}

// notFound returns an error with a hint on the form of names, which cannot be guessed.
func notFound(of, name, hint string) error {
	err := apierrors.NewNotFound(resource(of), name)
	if hint != "" {
		err.ErrStatus.Message += ": " + hint
	}
	return err
}

// statusError converts an error of the ledger to a Kubernetes status. Users get the kind of failure; the address of the
// ledger is only logged.
func statusError(err error) error {
	var failure *ledger.Error
	var refused *apierrors.StatusError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return apierrors.NewTimeoutError("the request ended before the ledger answered", 1)
	case errors.Is(err, ledger.ErrSearchOff):
		off := apierrors.NewMethodNotSupported(resource("transcripts"), "search")
		off.ErrStatus.Message = "full-text search is off: the operator runs without --ledger-search (ledger.search in the chart)"
		return off
	case errors.Is(err, ledger.ErrInvalid):
		return apierrors.NewBadRequest(err.Error())
	case errors.As(err, &failure):
		return apierrors.NewServiceUnavailable(fmt.Sprintf("the ledger cannot be read (%s): %s", failure.Reason, failure.Reason.Advice()))
	}
	return apierrors.NewInternalError(err)
}
