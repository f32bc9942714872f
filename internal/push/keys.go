// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

const (
	sealingField = "sealing.key"
	signingField = "signing.key"
	sealingBytes = 32
	// keysLifetime is how long keys are used before the Secret is read again. It bounds how long a replica uses old keys.
	keysLifetime = time.Minute
)

// Keys seal the secrets of configurations and sign notifications.
type Keys struct {
	sealing []byte
	signing *ecdsa.PrivateKey
}

func newKeys() (*Keys, error) {
	signing, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("create a signing key: %w", err)
	}
	sealing := make([]byte, sealingBytes)
	_, _ = rand.Read(sealing) // never fails
	return &Keys{sealing: sealing, signing: signing}, nil
}

func (k *Keys) encode() (map[string][]byte, error) {
	signing, err := x509.MarshalPKCS8PrivateKey(k.signing)
	if err != nil {
		return nil, fmt.Errorf("encode the signing key: %w", err)
	}
	return map[string][]byte{sealingField: k.sealing, signingField: signing}, nil
}

// parseKeys reads the data of the Secret. Its errors do not contain the data.
func parseKeys(data map[string][]byte) (*Keys, error) {
	parsed, err := x509.ParsePKCS8PrivateKey(data[signingField])
	signing, ok := parsed.(*ecdsa.PrivateKey)
	if err != nil || !ok || signing.Curve != elliptic.P256() || len(data[sealingField]) != sealingBytes {
		return nil, errors.New("it has no valid keys: delete it, and the operator creates new ones")
	}
	return &Keys{sealing: data[sealingField], signing: signing}, nil
}

// Keyring reads the keys from a Secret in the operator's namespace, and creates it if it does not exist. All replicas
// use the same keys. To replace the keys, delete the Secret; secrets that were sealed before can then no longer be
// read.
type Keyring struct {
	Secrets typedcorev1.SecretInterface
	// Name is the name of the Secret, and Owner its owner, or nil.
	Name  string
	Owner *metav1.OwnerReference

	mu   sync.Mutex
	keys *Keys
	read time.Time
}

func (r *Keyring) Keys(ctx context.Context) (*Keys, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keys != nil && time.Since(r.read) < keysLifetime {
		return r.keys, nil
	}
	keys, err := r.load(ctx)
	if err != nil && r.keys != nil && !apierrors.IsNotFound(err) {
		r.read = time.Now() // the API server does not answer; the keys stay valid
		return r.keys, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the keys for push notifications from secret %s: %w", r.Name, err)
	}
	r.keys, r.read = keys, time.Now()
	return keys, nil
}

func (r *Keyring) load(ctx context.Context) (*Keys, error) {
	secret, err := r.Secrets.Get(ctx, r.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		secret, err = r.create(ctx)
	}
	if apierrors.IsAlreadyExists(err) { // another replica was first
		secret, err = r.Secrets.Get(ctx, r.Name, metav1.GetOptions{})
	}
	if err != nil {
		return nil, err
	}
	return parseKeys(secret.Data)
}

func (r *Keyring) create(ctx context.Context) (*corev1.Secret, error) {
	keys, err := newKeys()
	if err != nil {
		return nil, err
	}
	data, err := keys.encode()
	if err != nil {
		return nil, err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: r.Name}, Data: data, Immutable: new(true)}
	if r.Owner != nil {
		secret.OwnerReferences = []metav1.OwnerReference{*r.Owner}
	}
	return r.Secrets.Create(ctx, secret, metav1.CreateOptions{})
}
