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
	// period is how often the Secret and the APIService are looked at: what somebody has done to them is mended after that time.
	period = 30 * time.Second
	// retry is how soon they are looked at again after a failure, or while there is no APIService.
	retry = 5 * time.Second
)

// Options say what to keep, and where.
type Options struct {
	// Names are the DNS names that the certificate is for, such as SERVICE.NAMESPACE.svc.
	Names []string
	// SecretName is the Secret, in the namespace of Secrets.
	SecretName string
	Secrets    typedcorev1.SecretInterface
	// APIService is told what vouches for the certificate.
	APIService APIService
	// Policy is DefaultPolicy if it is zero.
	Policy Policy
	// Now is time.Now if it is nil.
	Now func() time.Time
	Log logr.Logger
}

// Keeper keeps a certificate. It is a manager.Runnable, for every replica.
type Keeper struct {
	subject    subject
	secretName string
	secrets    typedcorev1.SecretInterface
	apiService APIService
	now        func() time.Time
	log        logr.Logger

	mu        sync.Mutex
	current   *material
	failure   error
	listeners []func()
}

// New makes a Keeper that has no certificate yet.
func New(options Options) *Keeper {
	if options.Policy == (Policy{}) {
		options.Policy = DefaultPolicy()
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Keeper{
		subject:    subject{names: options.Names, policy: options.Policy},
		secretName: options.SecretName, secrets: options.Secrets, apiService: options.APIService,
		now: options.Now, log: options.Log.WithValues("Secret", options.SecretName),
		failure: errors.New("it has not been looked for yet"),
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: every replica serves.
func (k *Keeper) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable: it keeps the certificate until ctx ends.
func (k *Keeper) Start(ctx context.Context) error {
	for {
		complete, err := k.look(ctx)
		if err != nil && ctx.Err() == nil {
			k.log.Error(err, "Could not keep the serving certificate, trying again")
		}
		wait := retry
		if complete {
			wait = period
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// Ready is a readiness check: there is a certificate to serve with.
func (k *Keeper) Ready(*http.Request) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.current == nil {
		return fmt.Errorf("there is no serving certificate: %w", k.failure)
	}
	return nil
}

// OnChange has a function called whenever there is another certificate. It must not wait.
func (k *Keeper) OnChange(listener func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.listeners = append(k.listeners, listener)
}

// CurrentCertKeyContent returns the certificate and its key in PEM; both are empty while there is none.
func (k *Keeper) CurrentCertKeyContent() (certificate, key []byte) {
	current := k.held()
	if current == nil {
		return nil, nil
	}
	return certificatePEM(current.serving.certificate), current.serving.keyPEM
}

// Sync looks at the Secret and the APIService once, and does what is due.
func (k *Keeper) Sync(ctx context.Context) error {
	_, err := k.look(ctx)
	return err
}

func (k *Keeper) held() *material {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.current
}

// hold serves with material from now on.
func (k *Keeper) hold(m *material) {
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
