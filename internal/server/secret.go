// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
)

// maxSecret bounds a pasted value.
const maxSecret = 64 << 10

// secretInput is a value that a person pastes into a form.
type secretInput struct {
	Name  string `json:"name"`
	Key   string `json:"key"`
	Value string `json:"value"`
}

// createSecret stores a pasted value in a new Secret, as the person. The page can neither read nor replace Secrets.
func (s *site) createSecret(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	namespace := r.PathValue("namespace")
	var input secretInput
	if err := readJSON(w, r, maxSecret, &input); err != nil {
		writeError(w, err)
		return
	}
	if len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(input.Name)) > 0 || len(validation.IsConfigMapKey(input.Key)) > 0 || input.Value == "" {
		writeError(w, apierrors.NewBadRequest("A Secret needs a name of lower-case letters, digits and '-', a key and a value."))
		return
	}
	api, err := newClient(config)
	if err != nil {
		writeError(w, err)
		return
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: input.Name, Namespace: namespace}, StringData: map[string]string{input.Key: input.Value}}
	if err := api.Create(r.Context(), secret); err != nil {
		writeError(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
