// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localmode

import (
	"context"
	"fmt"
	"net"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	manifests "github.com/nestor-dev/nestor/config/operator"
)

// registerWebhook registers the validating webhook of the chart at its port of this run. It has the Service and the certificate of the history
// API.
func (l *Local) registerWebhook(ctx context.Context) error {
	objects, err := manifests.Admission()
	if err != nil {
		return err
	}
	var chart admissionregistrationv1.ValidatingWebhookConfiguration
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(objects[0].Object, &chart); err != nil {
		return fmt.Errorf("read the configuration of the webhook: %w", err)
	}
	port := int32(l.webhook.Addr().(*net.TCPAddr).Port)
	endpoint := &chart.Webhooks[0].ClientConfig
	endpoint.Service.Port, endpoint.CABundle = &port, l.history.CABundle()
	registered := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: chart.Name}}
	return l.put(ctx, registered, func() error {
		registered.Webhooks = chart.Webhooks
		return nil
	})
}
