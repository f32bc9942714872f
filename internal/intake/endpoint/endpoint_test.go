// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/nestor-dev/nestor/internal/intake"
	"github.com/nestor-dev/nestor/internal/push"
	"github.com/nestor-dev/nestor/internal/trigger"
)

const gatewayUser = "system:serviceaccount:nestor-system:nestor-gateway"

// users are the users of tokens for the audience of the operator; a token with the prefix api- is for the API server.
var users = map[string]string{"right": gatewayUser, "other": "system:serviceaccount:team:nestor-gateway", "api-right": gatewayUser}

// reviewTokens is an API server that reviews tokens as Kubernetes does.
func reviewTokens(t *testing.T) *rest.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review authenticationv1.TokenReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		audience := intake.Audience
		if strings.HasPrefix(review.Spec.Token, "api-") {
			audience = "https://kubernetes.default.svc"
		}
		if user, ok := users[review.Spec.Token]; ok && slices.Contains(review.Spec.Audiences, audience) {
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: user}, Audiences: []string{audience}}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

// serve returns the address of an endpoint that accepts the webhooks of one trigger.
func serve(t *testing.T) string {
	t.Helper()
	handler, err := New(Options{
		Cluster: reviewTokens(t), Gateway: gatewayUser,
		Deliver: func(_ context.Context, sent intake.Webhook) (intake.Receipt, error) {
			switch sent.Trigger {
			case "review":
				return intake.Receipt{Outcome: trigger.Fired, Name: string(sent.Body) + sent.Header.Get("X-Event")}, nil
			case "broken":
				return intake.Receipt{}, errors.New("the internals of the ledger")
			}
			return intake.Receipt{}, intake.ErrUnauthorized
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func connect(t *testing.T, url, token string) *intake.Client {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := intake.NewClient(intake.Operator{URL: url, TokenFile: file})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestWebhookArrivesUnchanged(t *testing.T) {
	client := connect(t, serve(t), "right")
	receipt, err := client.Deliver(t.Context(), intake.Webhook{Namespace: "team", Trigger: "review", Header: http.Header{"X-Event": {"push"}}, Body: []byte("\xff{}")})
	if err != nil || receipt.Outcome != trigger.Fired || receipt.Name != "\ufffd{}push" {
		t.Errorf("%+v, %v", receipt, err)
	}
	if _, err := client.Deliver(t.Context(), intake.Webhook{Trigger: "unknown"}); !apierrors.IsUnauthorized(err) || err.Error() != intake.ErrUnauthorized.Error() {
		t.Errorf("the error for the sender is %v", err)
	}
	if _, err := client.Deliver(t.Context(), intake.Webhook{Trigger: "broken"}); !apierrors.IsServiceUnavailable(err) || strings.Contains(err.Error(), "internals") {
		t.Errorf("an error of the operator is %v", err)
	}
	_, err = client.Seal(t.Context(), push.Registration{Namespace: "team", Task: "t", ID: "1", URL: "ftp://client"})
	if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "https://") {
		t.Errorf("a registration that is not valid: %v", err)
	}
}

// TestOnlyTheGatewayIsAdmitted: a sender of webhooks must not get the refusal of the gateway as its own.
func TestOnlyTheGatewayIsAdmitted(t *testing.T) {
	url := serve(t)
	for name, c := range map[string]struct {
		token string
		code  int
	}{
		"no token": {"", 401}, "an unknown token": {"forged", 401}, "a token for the API server": {"api-right", 401}, "another service account": {"other", 403},
	} {
		for _, path := range []string{intake.WebhooksPath, intake.RegistrationsPath, intake.KeysPath, "/"} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+path, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			if c.token != "" {
				request.Header.Set("Authorization", "Bearer "+c.token)
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if response.StatusCode != c.code {
				t.Errorf("%s, %s: %s", name, path, response.Status)
			}
		}
	}
	if _, err := connect(t, url, "other").Deliver(t.Context(), intake.Webhook{Trigger: "review"}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("the sender gets %v", err)
	}
}
