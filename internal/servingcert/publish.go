// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"context"
	"encoding/json"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	admissionregistration "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiregistration "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
)

// Registration is an object that registers the server with the API server. It has a caBundle with the trusted authorities.
type Registration interface {
	// read returns nil if the object does not exist: it may be installed later.
	read(ctx context.Context) (*registered, error)
	// write sets the bundle and keeps other fields.
	write(ctx context.Context, bundle []byte) error
}

type registered struct {
	owner  metav1.OwnerReference
	bundle []byte
}

// APIService is the registration of an aggregated API.
type APIService struct {
	Name   string
	Client apiregistration.APIServiceInterface
}

func (a APIService) read(ctx context.Context) (*registered, error) {
	service, err := a.Client.Get(ctx, a.Name, metav1.GetOptions{})
	if err != nil {
		return absent(err, "APIService", a.Name)
	}
	return &registered{ownedBy(apiregistrationv1.SchemeGroupVersion.String(), "APIService", service), service.Spec.CABundle}, nil
}

func (a APIService) write(ctx context.Context, bundle []byte) error {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"caBundle": bundle}})
	if err != nil {
		return fmt.Errorf("encode the caBundle: %w", err)
	}
	if _, err := a.Client.Patch(ctx, a.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("write the caBundle of APIService %s: %w", a.Name, err)
	}
	return nil
}

// Webhook is the registration of a webhook in a ValidatingWebhookConfiguration.
type Webhook struct {
	// Configuration is the name of the object, and Name that of the webhook in it.
	Configuration, Name string
	Client              admissionregistration.ValidatingWebhookConfigurationInterface
}

func (w Webhook) read(ctx context.Context) (*registered, error) {
	const kind = "ValidatingWebhookConfiguration"
	configuration, err := w.Client.Get(ctx, w.Configuration, metav1.GetOptions{})
	if err != nil {
		return absent(err, kind, w.Configuration)
	}
	for _, webhook := range configuration.Webhooks {
		if webhook.Name == w.Name {
			owner := ownedBy(admissionregistrationv1.SchemeGroupVersion.String(), kind, configuration)
			return &registered{owner, webhook.ClientConfig.CABundle}, nil
		}
	}
	return nil, nil
}

func (w Webhook) write(ctx context.Context, bundle []byte) error {
	// The list of webhooks is merged by name.
	patch, err := json.Marshal(map[string]any{"webhooks": []any{
		map[string]any{"name": w.Name, "clientConfig": map[string]any{"caBundle": bundle}},
	}})
	if err != nil {
		return fmt.Errorf("encode the caBundle: %w", err)
	}
	if _, err := w.Client.Patch(ctx, w.Configuration, types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("write the caBundle of ValidatingWebhookConfiguration %s: %w", w.Configuration, err)
	}
	return nil
}

func ownedBy(apiVersion, kind string, object metav1.Object) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: object.GetName(), UID: object.GetUID()}
}

func absent(err error, kind, name string) (*registered, error) {
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return nil, fmt.Errorf("read %s %s: %w", kind, name, err)
}
