// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

const (
	// syncPeriod is the interval at which the Secret and the registrations are checked and repaired.
	syncPeriod = 30 * time.Second
	// retryPeriod is the interval after a failure, or while a registration does not exist.
	retryPeriod = 5 * time.Second
)

type Options struct {
	// Names are the DNS names of the certificate, such as SERVICE.NAMESPACE.svc.
	Names      []string
	SecretName string
	Secrets    typedcorev1.SecretInterface
	// Registrations receive the CA bundle. Without any, clients read the authorities from the Secret.
	Registrations []Registration
	// Policy defaults to DefaultPolicy, and Now to time.Now.
	Policy Policy
	Now    func() time.Time
	Log    logr.Logger
}

// Keeper maintains a certificate. It is a manager.Runnable that runs in every replica.
type Keeper struct {
	subject       subject
	secretName    string
	secrets       typedcorev1.SecretInterface
	registrations []Registration
	now           func() time.Time
	log           logr.Logger

	mu        sync.Mutex
	current   *material
	failure   error
	listeners []func()
}

// New returns a Keeper that has no certificate yet.
func New(options Options) *Keeper {
	if options.Policy == (Policy{}) {
		options.Policy = DefaultPolicy()
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Keeper{
		subject:    subject{names: options.Names, policy: options.Policy},
		secretName: options.SecretName, secrets: options.Secrets, registrations: options.Registrations,
		now: options.Now, log: options.Log.WithValues("Secret", options.SecretName),
		failure: errors.New("the Secret has not been read yet"),
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: every replica serves.
func (k *Keeper) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable: it maintains the certificate until ctx ends.
func (k *Keeper) Start(ctx context.Context) error {
	for {
		complete, err := k.syncOnce(ctx)
		if err != nil && ctx.Err() == nil {
			k.log.Error(err, "Failed to maintain the serving certificate, retrying")
		}
		wait := retryPeriod
		if complete {
			wait = syncPeriod
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// Ready returns an error while there is no certificate. It is a readiness check.
func (k *Keeper) Ready(*http.Request) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.current == nil {
		return fmt.Errorf("there is no serving certificate: %w", k.failure)
	}
	return nil
}

// OnChange registers a function that is called whenever the certificate changes. It must not block.
func (k *Keeper) OnChange(listener func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.listeners = append(k.listeners, listener)
}

// CurrentCertKeyContent returns the certificate and its key in PEM; both are empty while there is none.
func (k *Keeper) CurrentCertKeyContent() (certificate, key []byte) {
	current := k.serving()
	if current == nil {
		return nil, nil
	}
	return certificatePEM(current.serving.certificate), current.serving.keyPEM
}

// Sync checks the Secret and the registrations once, and does what is due.
func (k *Keeper) Sync(ctx context.Context) error {
	_, err := k.syncOnce(ctx)
	return err
}

func (k *Keeper) serving() *material {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.current
}

func (k *Keeper) setCurrent(m *material) {
	k.mu.Lock()
	changed := k.current == nil || !k.current.serving.certificate.Equal(m.serving.certificate)
	k.current = m
	listeners := append([]func(){}, k.listeners...)
	k.mu.Unlock()
	if !changed {
		return
	}
	for _, listener := range listeners {
		listener()
	}
}
