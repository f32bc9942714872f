// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// maxFire bounds the input of a firing: annotations of an object have at most 256 KiB.
const maxFire = 128 << 10

// fireInput is the input of a trigger's expressions when a person fires it.
type fireInput struct {
	Body   json.RawMessage `json:"body,omitempty"`
	Object json.RawMessage `json:"object,omitempty"`
}

// fire fires a trigger as the person: it patches the annotation that requests a firing, and nothing else. It returns the id of the request.
func (s *site) fire(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	namespace, name := r.PathValue("namespace"), r.PathValue("name")
	if err := checkNames("trigger", namespace, name); err != nil {
		writeError(w, err)
		return
	}
	var input fireInput
	if err := readJSON(w, r, maxFire, &input); err != nil {
		writeError(w, err)
		return
	}
	id, err := s.patchFire(r, config, namespace, name, input)
	if err != nil {
		writeError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]string{"id": id})
}

// patchFire writes the annotation that requests a firing, and returns the id of the request.
func (s *site) patchFire(r *http.Request, config *rest.Config, namespace, name string, input fireInput) (string, error) {
	user, err := review(r.Context(), config)
	if err != nil {
		return "", err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return "", fmt.Errorf("reach the API server: %w", err)
	}
	triggers := client.Resource(nestorResource(triggers)).Namespace(namespace)
	current, err := triggers.Get(r.Context(), name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if current.GetAnnotations()[v1beta1.AnnotationFire] != "" {
		return "", statusError(http.StatusConflict, metav1.StatusReasonConflict, "The operator has not handled an earlier request to fire this trigger yet.")
	}
	id := time.Now().UTC().Format("20060102-150405-") + rand.String(5)
	request := encode(struct {
		ID string `json:"id"`
		fireInput
	}{id, input})
	// The resource version makes sure that the request of another person is not replaced.
	patch := encode(map[string]any{"metadata": map[string]any{
		"resourceVersion": current.GetResourceVersion(),
		"annotations":     map[string]string{v1beta1.AnnotationFire: string(request), v1beta1.AnnotationFireUser: user.Username},
	}})
	_, err = triggers.Patch(r.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	return id, err
}
