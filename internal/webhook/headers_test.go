// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHeadersOmitSecrets(t *testing.T) {
	header := http.Header{}
	for _, name := range []string{
		"Authorization", "Proxy-Authorization", "Cookie", "X-Hub-Signature", "X-Hub-Signature-256", "Webhook-Signature",
		"X-Gitlab-Token", "X-Api-Key", "X-Amz-Security-Token", "X-Auth-Request-Email", "X-Webhook-Secret",
	} {
		header.Set(name, "hidden")
	}
	header.Set("X-GitHub-Event", "push")
	header.Set("Idempotency-Key", "build-18")
	want := map[string]string{"x-github-event": "push", "idempotency-key": "build-18"}
	if diff := cmp.Diff(want, lowerCaseHeaders(header)); diff != "" {
		t.Error(diff)
	}
}
