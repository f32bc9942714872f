// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/push"
)

const (
	purpose     = "tool login"
	sealedField = "sealed"
	namePrefix  = "nestor-login-"
	// maxRecord bounds a record: a token may have 16 KiB, and there are two.
	maxRecord = 64 << 10
)

// Store keeps what people and the operator need to log in, in Secrets in the operator's namespace.
type Store struct {
	Secrets typedcorev1.SecretInterface
	// Keys returns the keys that seal the records. All replicas have the same.
	Keys func(context.Context) (*push.Keys, error)
}

// owner identifies a record.
type owner struct {
	namespace, server, uid string
	// person is empty for the operator's own registration as a client.
	person string
}

func (o owner) binding() []string { return []string{o.namespace, o.uid, o.person} }

func (o owner) secretName() string {
	hash := sha256.New()
	for _, part := range o.binding() {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	return namePrefix + hex.EncodeToString(hash.Sum(nil)[:20])
}

// record is the sealed content of a Secret.
type record struct {
	Registration *registration `json:"registration,omitempty"`
	Attempt      *attempt      `json:"attempt,omitempty"`
	Login        *credentials  `json:"login,omitempty"`
}

func (r record) empty() bool { return r == record{} }

// attempt is a login that has begun.
type attempt struct {
	// State and Verifier are secrets of this attempt.
	State    string    `json:"state"`
	Verifier string    `json:"verifier"`
	Expires  time.Time `json:"expires"`
	// IssuerNamed reports that the authorization server names itself in its answers.
	IssuerNamed bool   `json:"issuerNamed,omitempty"`
	Client      client `json:"client"`
}

// credentials are the tokens of a person.
type credentials struct {
	// ID is another one after each login.
	ID      string    `json:"id"`
	Access  string    `json:"access"`
	Refresh string    `json:"refresh,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
	Client  client    `json:"client"`
	// RefreshBy is until when one replica refreshes the tokens: an authorization server that rotates refresh tokens
	// takes a second use of one for a theft.
	RefreshBy time.Time `json:"refreshBy,omitzero"`
}

// read returns a record, which is empty if there is none or if it cannot be opened.
func (s *Store) read(ctx context.Context, o owner) (record, error) {
	secret, err := s.Secrets.Get(ctx, o.secretName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return record{}, nil
	}
	if err != nil {
		return record{}, fmt.Errorf("read the login of a person: %w", err)
	}
	keys, err := s.Keys(ctx)
	if err != nil {
		return record{}, err
	}
	return open(keys, secret, o)
}

func open(keys *push.Keys, secret *corev1.Secret, o owner) (r record, err error) {
	text, err := keys.OpenFor(purpose, secret.Data[sealedField], o.binding()...)
	if errors.Is(err, push.ErrUnsealed) || err == nil && json.Unmarshal(text, &r) != nil {
		return record{}, nil //nolint:nilerr // the keys were replaced, or the Secret is not the operator's: the person logs in again
	}
	return r, err
}

// change changes a record. A record that becomes empty is deleted. The function may be called several times.
func (s *Store) change(ctx context.Context, o owner, change func(*record) error) error {
	keys, err := s.Keys(ctx)
	if err != nil {
		return err
	}
	changed := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	err = retry.OnError(retry.DefaultBackoff, changed, func() error {
		secret, err := s.Secrets.Get(ctx, o.secretName(), metav1.GetOptions{})
		missing := apierrors.IsNotFound(err)
		if err != nil && !missing {
			return err
		}
		before := record{}
		if !missing {
			if before, err = open(keys, secret, o); err != nil {
				return err
			}
		}
		after := before
		if err := change(&after); err != nil {
			return err
		}
		if after.empty() && missing {
			return nil
		}
		if after.empty() {
			return s.remove(ctx, secret)
		}
		return s.write(ctx, keys, o, secret, after, missing)
	})
	var refused apierrors.APIStatus
	if errors.As(err, &refused) {
		return fmt.Errorf("store the login of a person: %w", err)
	}
	return err
}

func (s *Store) write(ctx context.Context, keys *push.Keys, o owner, secret *corev1.Secret, r record, create bool) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode the login: %w", err)
	}
	if len(text) > maxRecord {
		return fmt.Errorf("the tokens have more than %d KiB", maxRecord>>10)
	}
	sealed, err := keys.SealFor(purpose, text, o.binding()...)
	if err != nil {
		return err
	}
	if create {
		secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: o.secretName()}}
	}
	secret.Labels = map[string]string{v1beta1.LabelToolLogin: o.uid}
	secret.Annotations = map[string]string{
		v1beta1.AnnotationToolLoginServer: o.namespace + "/" + o.server, v1beta1.AnnotationToolLoginPerson: o.person,
	}
	secret.Data = map[string][]byte{sealedField: sealed}
	if create {
		_, err = s.Secrets.Create(ctx, secret, metav1.CreateOptions{})
		return err
	}
	_, err = s.Secrets.Update(ctx, secret, metav1.UpdateOptions{})
	return err
}

func (s *Store) remove(ctx context.Context, secret *corev1.Secret) error {
	err := s.Secrets.Delete(ctx, secret.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &secret.UID, ResourceVersion: &secret.ResourceVersion}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// people returns the people who have a record for a server, in a stable order.
func (s *Store) people(ctx context.Context, o owner) ([]string, error) {
	list, err := s.Secrets.List(ctx, metav1.ListOptions{LabelSelector: v1beta1.LabelToolLogin + "=" + o.uid})
	if err != nil {
		return nil, fmt.Errorf("list the logins at a tool server: %w", err)
	}
	var people []string
	for _, secret := range list.Items {
		if person := secret.Annotations[v1beta1.AnnotationToolLoginPerson]; person != "" {
			people = append(people, person)
		}
	}
	return people, nil
}

// Forget deletes the records of a server that was deleted.
func (s *Store) Forget(ctx context.Context, namespace, server string) error {
	list, err := s.Secrets.List(ctx, metav1.ListOptions{LabelSelector: v1beta1.LabelToolLogin})
	if err != nil {
		return fmt.Errorf("list the logins at a tool server: %w", err)
	}
	for i := range list.Items {
		secret := &list.Items[i]
		if secret.Annotations[v1beta1.AnnotationToolLoginServer] != namespace+"/"+server {
			continue
		}
		if err := s.remove(ctx, secret); err != nil {
			return fmt.Errorf("delete a login at a tool server: %w", err)
		}
	}
	return nil
}
