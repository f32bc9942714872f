// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	registration "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
)

// APIService is the registration of the server, whose spec.caBundle contains the trusted authorities. The zero value is that of a server that is
// not registered: clients read its authorities from the Secret.
type APIService struct {
	Name   string
	Client registration.APIServiceInterface
}

// read returns the registration, or nil if there is none: it may be installed later.
func (a APIService) read(ctx context.Context) (*apiregistrationv1.APIService, error) {
	if a.Client == nil {
		return nil, nil
	}
	found, err := a.Client.Get(ctx, a.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read APIService %s: %w", a.Name, err)
	}
	return found, nil
}

// write sets the bundle of the registration if it differs, and keeps other fields. A replica that has read the Secret
// too early may write an older bundle; the overlap of authorities makes that harmless until its next sync.
func (a APIService) write(ctx context.Context, found *apiregistrationv1.APIService, bundle []byte) error {
	if bytes.Equal(found.Spec.CABundle, bundle) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"caBundle": bundle}})
	if err != nil {
		return fmt.Errorf("encode the caBundle: %w", err)
	}
	if _, err := a.Client.Patch(ctx, a.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("write the caBundle of APIService %s: %w", a.Name, err)
	}
	return nil
}
