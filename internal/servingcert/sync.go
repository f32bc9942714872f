// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxAttempts limits retries of a write after conflicts with other replicas.
const maxAttempts = 5

// syncOnce does what is due and records the result. It reports true when every registration has the current bundle.
func (k *Keeper) syncOnce(ctx context.Context) (complete bool, err error) {
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.failure = err
	}()
	// An unreadable registration does not stop serving; it only delays the change to a new authority.
	registrations, registrationErr := k.readRegistrations(ctx)
	current, err := k.ensureSecret(ctx, registrations, func(m *material) bool {
		return registrationErr == nil && !slices.ContainsFunc(registrations, func(r *registered) bool { return r != nil && !m.inBundle(r.bundle) })
	})
	if err != nil {
		return false, errors.Join(err, registrationErr)
	}
	k.setCurrent(current)
	err = errors.Join(registrationErr, k.publish(ctx, registrations, current.bundle()))
	return err == nil && !slices.Contains(registrations, nil), err
}

// readRegistrations returns each registration, or nil where there is none or it cannot be read.
func (k *Keeper) readRegistrations(ctx context.Context) ([]*registered, error) {
	registrations := make([]*registered, len(k.registrations))
	var errs []error
	for i, registration := range k.registrations {
		var err error
		registrations[i], err = registration.read(ctx)
		errs = append(errs, err)
	}
	return registrations, errors.Join(errs...)
}

// publish writes the bundle to the registrations that differ. A replica that has read the Secret too early may write an older bundle; the
// overlap of authorities makes that harmless until its next sync.
func (k *Keeper) publish(ctx context.Context, registrations []*registered, bundle []byte) error {
	var errs []error
	for i, registration := range k.registrations {
		if registrations[i] != nil && !bytes.Equal(registrations[i].bundle, bundle) {
			errs = append(errs, registration.write(ctx, bundle))
		}
	}
	return errors.Join(errs...)
}

// ensureSecret returns the content of the Secret after all due changes.
func (k *Keeper) ensureSecret(ctx context.Context, registrations []*registered, published func(*material) bool) (*material, error) {
	var overtaken error
	for range maxAttempts {
		secret, err := k.secrets.Get(ctx, k.secretName, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("read secret %s: %w", k.secretName, err)
		}
		if err != nil {
			secret = nil
		}
		before, next, err := k.nextMaterial(secret, published)
		if err != nil || next == before {
			return next, err
		}
		err = k.write(ctx, secret, registrations, next)
		if err == nil {
			k.log.Info("Renewed the certificate", "servingUntil", next.serving.certificate.NotAfter, "authorityUntil", next.authority.certificate.NotAfter)
			return next, nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
			return nil, err
		}
		overtaken = err
	}
	return nil, fmt.Errorf("%d conflicts in a row: %w", maxAttempts, overtaken)
}

// nextMaterial decodes the Secret, which may be nil, and returns what it should contain.
func (k *Keeper) nextMaterial(secret *corev1.Secret, published func(*material) bool) (found, next *material, err error) {
	now := k.now()
	if secret != nil && len(secret.Data) > 0 {
		found, err = parse(secret.Data)
		if err == nil {
			next, err = k.subject.renew(found, now, published(found))
			return found, next, err
		}
		k.log.Error(err, "The Secret has no usable certificate, replacing it")
	}
	if current := k.serving(); current != nil {
		next, err = k.subject.rotateAuthority(current, now)
		return nil, next, err
	}
	next, err = k.subject.newMaterial(now)
	return nil, next, err
}

// write stores material in the Secret that was read, or in a new one, which is owned by the registrations: the
// installer does not track a recreated Secret and would leave it behind.
func (k *Keeper) write(ctx context.Context, read *corev1.Secret, registrations []*registered, m *material) error {
	data := m.encode()
	if read == nil {
		created := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: k.secretName}, Data: data}
		for _, r := range registrations {
			if r != nil {
				created.OwnerReferences = append(created.OwnerReferences, r.owner)
			}
		}
		if _, err := k.secrets.Create(ctx, created, metav1.CreateOptions{}); err != nil {
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
