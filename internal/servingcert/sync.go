// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// attempts is how often a write is tried that other replicas come before.
const attempts = 5

// look does what is due and remembers how it went. It is complete when the API server knows all about it.
func (k *Keeper) look(ctx context.Context) (complete bool, err error) {
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.failure = err
	}()
	// A registration that cannot be read keeps nobody from serving. It holds up the change to a new authority only.
	registered, registrationErr := k.apiService.read(ctx)
	kept, err := k.keep(ctx, registered, func(m *material) bool {
		return registrationErr == nil && (registered == nil || m.vouchedFor(registered.Spec.CABundle))
	})
	if err != nil {
		return false, errors.Join(err, registrationErr)
	}
	k.hold(kept)
	if registrationErr != nil || registered == nil {
		return false, registrationErr
	}
	err = k.apiService.write(ctx, registered, kept.bundle())
	return err == nil, err
}

// keep returns what the Secret holds when all that is due is done. The registration may be nil.
func (k *Keeper) keep(ctx context.Context, registered *apiregistrationv1.APIService, published func(*material) bool) (*material, error) {
	var overtaken error
	for range attempts {
		secret, err := k.secrets.Get(ctx, k.secretName, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("read secret %s: %w", k.secretName, err)
		}
		if err != nil {
			secret = nil
		}
		found, next, err := k.judge(secret, published)
		if err != nil || next == found {
			return next, err
		}
		err = k.write(ctx, secret, registered, next)
		if err == nil {
			k.log.Info("Renewed the certificate", "servingUntil", next.serving.certificate.NotAfter, "authorityUntil", next.authority.certificate.NotAfter)
			return next, nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
			return nil, err
		}
		overtaken = err
	}
	return nil, fmt.Errorf("others were faster %d times in a row: %w", attempts, overtaken)
}

// judge reads the Secret, which may be nil, and says what it should hold.
func (k *Keeper) judge(secret *corev1.Secret, published func(*material) bool) (found, next *material, err error) {
	now := k.now()
	if secret != nil && len(secret.Data) > 0 {
		found, err = parse(secret.Data)
		if err == nil {
			next, err = k.subject.renew(found, now, published(found))
			return found, next, err
		}
		k.log.Error(err, "The secret holds no usable certificate: it is replaced")
	}
	if held := k.held(); held != nil {
		next, err = k.subject.succeed(held, now)
		return nil, next, err
	}
	next, err = k.subject.start(now)
	return nil, next, err
}

// write puts material into the Secret that was read, or into a new one, which goes with the registration: who installed that does
// not know of a Secret that was made anew, and would leave it behind.
func (k *Keeper) write(ctx context.Context, read *corev1.Secret, registered *apiregistrationv1.APIService, m *material) error {
	data := m.encode()
	if read == nil {
		made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: k.secretName}, Data: data}
		if registered != nil {
			made.OwnerReferences = []metav1.OwnerReference{{
				APIVersion: apiregistrationv1.SchemeGroupVersion.String(), Kind: "APIService", Name: registered.Name, UID: registered.UID,
			}}
		}
		if _, err := k.secrets.Create(ctx, made, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create secret %s: %w", k.secretName, err)
		}
		return nil
	}
	changed := read.DeepCopy()
	changed.Data = data
	if _, err := k.secrets.Update(ctx, changed, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("update secret %s: %w", k.secretName, err)
	}
	return nil
}
