// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/cloudevents/sdk-go/v2/binding"
	cloudevents "github.com/cloudevents/sdk-go/v2/protocol/http"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// findFormat returns a format. An unknown one, of a newer version of the API, is like Generic.
func findFormat(name v1beta1.WebhookFormat) format {
	switch name {
	case v1beta1.WebhookGitHub:
		return format{gitHub: true, parse: parseGitHub}
	case v1beta1.WebhookAlertmanager:
		return format{parse: parseAlertmanager}
	case v1beta1.WebhookCloudEvents:
		return format{parse: parseCloudEvent}
	}
	return format{parse: parseGeneric}
}

// parseGeneric reads any JSON. A sender with a token that repeats requests identifies them with Idempotency-Key;
// without it each request is a new one.
func parseGeneric(header http.Header, body []byte, _ bool) (*received, error) {
	value, err := parseJSON(body)
	if err != nil {
		return nil, err
	}
	delivery := header.Get("Idempotency-Key")
	if delivery == "" {
		delivery = rand.Text()
	}
	return &received{delivery: delivery, body: value}, nil
}

// parseGitHub reads an event of GitHub. The signature does not cover X-GitHub-Delivery: the same body is the same
// delivery, whatever that header has.
func parseGitHub(header http.Header, body []byte, _ bool) (*received, error) {
	if strings.HasPrefix(header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		return nil, apierrors.NewBadRequest("set the content type of the webhook to application/json in its settings on GitHub")
	}
	if header.Get("X-GitHub-Delivery") == "" {
		return nil, apierrors.NewBadRequest("the request has no header X-GitHub-Delivery: it is not an event of GitHub")
	}
	value, err := parseJSON(body)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	return &received{delivery: hex.EncodeToString(sum[:16]), body: value, ping: header.Get("X-GitHub-Event") == "ping"}, nil
}

// notification is the part of a notification of Alertmanager that identifies it.
type notification struct {
	Version  string `json:"version"`
	GroupKey string `json:"groupKey"`
	Status   string `json:"status"`
	Alerts   []struct {
		Status      string `json:"status"`
		Fingerprint string `json:"fingerprint"`
		StartsAt    string `json:"startsAt"`
	} `json:"alerts"`
}

// parseAlertmanager reads a notification of Alertmanager. It has no id: one with the same alerts in the same states is
// the same.
func parseAlertmanager(_ http.Header, body []byte, _ bool) (*received, error) {
	value, err := parseJSON(body)
	if err != nil {
		return nil, err
	}
	var n notification
	if err := utiljson.Unmarshal(body, &n); err != nil || n.GroupKey == "" || len(n.Alerts) == 0 {
		return nil, apierrors.NewBadRequest("the body is not a notification of Alertmanager: it has no groupKey or no alerts")
	}
	alerts := make([]string, len(n.Alerts))
	for i, alert := range n.Alerts {
		alerts[i] = fmt.Sprintf("%q %q %q", alert.Fingerprint, alert.Status, alert.StartsAt)
	}
	slices.Sort(alerts)
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %s", n.GroupKey, n.Status, strings.Join(alerts, " ")))
	return &received{delivery: hex.EncodeToString(sum[:16]), body: value}, nil
}

// parseCloudEvent reads a CloudEvent in structured or binary mode. The body for expressions is the event in its JSON
// format.
func parseCloudEvent(header http.Header, body []byte, signed bool) (*received, error) {
	if signed && !strings.HasPrefix(header.Get("Content-Type"), "application/cloudevents") {
		return nil, apierrors.NewBadRequest("the signature does not cover the headers of a CloudEvent in binary mode: " +
			"send it in structured mode, or use a token")
	}
	message := cloudevents.NewMessage(header, io.NopCloser(bytes.NewReader(body)))
	defer func() { _ = message.Finish(nil) }()
	event, err := binding.ToEvent(context.Background(), message)
	if err == nil {
		err = event.Validate()
	}
	if err != nil {
		return nil, apierrors.NewBadRequest("the request is not a CloudEvent in structured or binary mode: " + err.Error())
	}
	encoded, err := event.MarshalJSON()
	if err != nil {
		return nil, apierrors.NewBadRequest("the data of the CloudEvent does not match its content type: " + err.Error())
	}
	value, err := parseJSON(encoded)
	if err != nil {
		return nil, err
	}
	return &received{delivery: event.Source() + " " + event.ID(), body: value}, nil // together they are unique
}
