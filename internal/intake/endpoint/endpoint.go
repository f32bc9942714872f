// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/nestor-dev/nestor/internal/intake"
	"github.com/nestor-dev/nestor/internal/login/request"
	"github.com/nestor-dev/nestor/internal/push"
	"github.com/nestor-dev/nestor/internal/streams"
)

const (
	// maxRequests bounds the requests in flight, and with them the memory: a request has at most maxBody bytes.
	maxRequests = 128
	// maxBody bounds a request: the body of a webhook in base64, and its headers.
	maxBody = 3 << 20
	// reviewLifetime is how long the user of a token is remembered.
	reviewLifetime = 10 * time.Second
	reviewTimeout  = 10 * time.Second
)

// Options configure the endpoint.
type Options struct {
	// Cluster reviews tokens.
	Cluster *rest.Config
	// Gateway is the user name of the gateway, which alone is admitted.
	Gateway string
	// Deliver takes webhooks, and Push registrations.
	Deliver func(ctx context.Context, sent intake.Webhook) (intake.Receipt, error)
	Push    push.Registrar
	// Login logs people in to tool servers and out.
	Login func(ctx context.Context, wanted request.Request) (request.Result, error)
}

func New(options Options) (http.Handler, error) {
	client, err := kubernetes.NewForConfig(options.Cluster)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	tokens, _, err := authenticatorfactory.DelegatingAuthenticatorConfig{
		TokenAccessReviewClient: client.AuthenticationV1(), TokenAccessReviewTimeout: reviewTimeout, CacheTTL: reviewLifetime,
		WebhookRetryBackoff: &wait.Backoff{Steps: 1}, APIAudiences: authenticator.Audiences{intake.Audience},
	}.New()
	if err != nil {
		return nil, fmt.Errorf("review the gateway's tokens: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST "+intake.WebhooksPath, answered(options.Deliver))
	mux.Handle("POST "+intake.RegistrationsPath, answered(options.Push.Seal))
	mux.Handle("POST "+intake.KeysPath, answered(func(ctx context.Context, _ struct{}) (push.JWKS, error) { return options.Push.PublicKeys(ctx) }))
	mux.Handle("POST "+intake.LoginsPath, answered(options.Login))
	return admit(tokens, options.Gateway, mux), nil
}

// admit refuses requests that are not of the gateway, before their body is read.
func admit(tokens authenticator.Request, gateway string, next http.Handler) http.Handler {
	requests := streams.NewLimiter(streams.Limits{Total: maxRequests})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		response, ok, err := tokens.AuthenticateRequest(r.WithContext(authenticator.WithAudiences(r.Context(), authenticator.Audiences{intake.Audience})))
		if err != nil || !ok {
			http.Error(w, "send a token of the gateway for the audience "+intake.Audience, http.StatusUnauthorized)
			return
		}
		if response.User.GetName() != gateway {
			http.Error(w, "only the gateway is admitted", http.StatusForbidden)
			return
		}
		release, err := requests.Open(gateway)
		if err != nil {
			http.Error(w, "too many requests at once", http.StatusTooManyRequests)
			return
		}
		defer release()
		next.ServeHTTP(w, r)
	})
}

func answered[In, Out any](call func(context.Context, In) (Out, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in In
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&in); err != nil {
			http.Error(w, "the request is not valid", http.StatusBadRequest)
			return
		}
		out, err := call(r.Context(), in)
		answer := intake.Answer[Out]{Result: out}
		var forClient *apierrors.StatusError
		switch {
		case errors.As(err, &forClient):
			answer.Error = &forClient.ErrStatus
		case err != nil:
			ctrl.Log.WithName("intake").Error(err, "A request of the gateway failed", "path", r.URL.Path)
			http.Error(w, "the request failed; the operator's log has the details", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer) // the gateway may have disconnected
	})
}
