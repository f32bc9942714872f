// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// isJSON reports whether a request has the content type of JSON. A form of another site can post, but not with it.
func isJSON(r *http.Request) bool {
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && mediaType == "application/json"
}

// errNotJSON returns the error for a request with another content type.
func errNotJSON() error {
	return statusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, "Send JSON.")
}

// readJSON decodes the body of a request, of at most limit bytes.
func readJSON(w http.ResponseWriter, r *http.Request, limit int64, into any) error {
	if !isJSON(r) {
		return errNotJSON()
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, limit)).Decode(into); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("Send JSON of at most %d bytes: %s", limit, err))
	}
	return nil
}

// checkNames returns an error for texts that cannot be the name of an object of a kind and its namespace.
func checkNames(kind, namespace, name string) error {
	if len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return apierrors.NewBadRequest(fmt.Sprintf("%q in %q is not the name of a %s.", name, namespace, kind))
	}
	return nil
}

// checkNamespace returns an error for a text that cannot be the name of a namespace.
func checkNamespace(name string) error {
	if len(validation.IsDNS1123Label(name)) > 0 {
		return apierrors.NewBadRequest(fmt.Sprintf("%q is not the name of a namespace.", name))
	}
	return nil
}
