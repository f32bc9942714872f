// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// maxTitle is the maximum number of characters of a title.
const maxTitle = 120

// title gives a chat a title as the person: it patches the annotation with the title, and nothing else. An empty title removes it.
func (s *site) title(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	namespace, name := r.PathValue("namespace"), r.PathValue("name")
	if err := checkNames("chat", namespace, name); err != nil {
		writeError(w, err)
		return
	}
	var input struct {
		Title string `json:"title"`
	}
	if err := readJSON(w, r, 4<<10, &input); err != nil {
		writeError(w, err)
		return
	}
	title := strings.TrimSpace(input.Title)
	if utf8.RuneCountInString(title) > maxTitle || strings.ContainsFunc(title, unicode.IsControl) {
		writeError(w, apierrors.NewBadRequest(fmt.Sprintf("A title is one line of at most %d characters.", maxTitle)))
		return
	}
	changed, err := patchTitle(r, config, namespace, name, title)
	if err != nil {
		writeError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, changed)
}

func patchTitle(r *http.Request, config *rest.Config, namespace, name, title string) (any, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	var value any // null removes the annotation
	if title != "" {
		value = title
	}
	patch := encode(map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1beta1.AnnotationTitle: value}}})
	changed, err := client.Resource(nestorResource(chats)).Namespace(namespace).Patch(r.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return nil, err
	}
	changed.SetManagedFields(nil)
	return changed.Object, nil
}
