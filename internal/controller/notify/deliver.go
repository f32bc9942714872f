// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/push"
	"github.com/nestor-dev/nestor/internal/webhook"
)

const (
	// eventType is the beginning of the types of CloudEvents.
	eventType = "dev.nestor.notification."
	// notAllowed is recorded for every URL that may not be used: a Secret's value is not shown, even in part.
	notAllowed = "the URL in the Secret must begin with https:// and lead to the internet or to a network in --push-networks"
)

// cloudEvent is the body of a notification for a webhook, in the JSON format of CloudEvents 1.0.
type cloudEvent struct {
	SpecVersion string      `json:"specversion"`
	ID          string      `json:"id"`
	Source      string      `json:"source"`
	Type        string      `json:"type"`
	Time        metav1.Time `json:"time"`
	// Sequence is an extension of CloudEvents, and therefore a string.
	Sequence    string    `json:"sequence"`
	ContentType string    `json:"datacontenttype"`
	Data        eventData `json:"data"`
}

type eventData struct {
	Namespace string              `json:"namespace"`
	Kind      string              `json:"kind"`
	Name      string              `json:"name"`
	State     v1beta1.NotifyState `json:"state"`
	// Trigger is the AgentTrigger that started a task, and User the person who uses the chat or requested the task.
	Trigger string            `json:"trigger,omitempty"`
	User    string            `json:"user,omitempty"`
	Reason  v1beta1.ErrorKind `json:"reason,omitempty"`
	Waiting *push.Waiting     `json:"waiting,omitempty"`
	// Link leads to the page where a person can decide.
	Link string `json:"link,omitempty"`
}

// about is an object that receivers are notified of.
type about struct {
	objectKey
	uid           string
	trigger, user string
}

func aboutObject(name objectKey, object client.Object) about {
	a := about{objectKey: name, uid: string(object.GetUID()), trigger: object.GetLabels()[v1beta1.LabelTrigger]}
	switch o := object.(type) {
	case *v1beta1.AgentChat:
		a.user = o.Spec.User
	case *v1beta1.AgentTask:
		a.user = o.Spec.User
	}
	return a
}

// deliver makes one attempt to deliver a notification to a receiver of a spec.
func (s *Sender) deliver(ctx context.Context, a about, to v1beta1.NotifyReceiver, n push.Notice) outcome {
	url, failed := s.secret(ctx, a.Namespace, to.URLKeyRef())
	if failed != "" {
		return outcome{failure: failed, cause: failed}
	}
	if push.CheckURL(url, s.Reach) != nil {
		return outcome{failure: notAllowed, cause: notAllowed}
	}
	data := eventData{
		Namespace: a.Namespace, Kind: a.kind, Name: a.Name, State: n.State, Trigger: a.trigger, User: a.user, Reason: n.Reason, Waiting: n.Waiting,
		Link: s.link(a),
	}
	event := cloudEvent{
		SpecVersion: "1.0", ID: a.uid + "/" + n.ID, Source: fmt.Sprintf("/namespaces/%s/%ss/%s", a.Namespace, strings.ToLower(a.kind), a.Name),
		Type: eventType + strings.ToLower(string(n.State)), Time: n.Time, Sequence: strconv.FormatInt(n.Sequence, 10), ContentType: "application/json", Data: data,
	}
	var content any = event
	if to.Slack != nil {
		content = map[string]string{"text": data.sentence()}
	}
	body, err := json.Marshal(content)
	if err != nil {
		return outcome{failure: "the notification cannot be encoded", final: true}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return outcome{failure: notAllowed, cause: notAllowed}
	}
	request.Header.Set("Content-Type", "application/json")
	if to.Webhook != nil {
		key, failed := s.secret(ctx, a.Namespace, to.Webhook.SecretKeyRef)
		if failed != "" {
			return outcome{failure: failed, cause: failed}
		}
		request.Header.Set("Content-Type", "application/cloudevents+json")
		webhook.Sign(request.Header, key, event.ID, body, time.Now())
	}
	return s.post(request)
}

// secret returns the value of a key of a Secret, or why there is none.
func (s *Sender) secret(ctx context.Context, namespace string, ref v1beta1.SecretKeyRef) (value, failed string) {
	data, err := s.Secret(ctx, namespace, ref)
	var missing *resolve.Missing
	switch {
	case errors.As(err, &missing):
		return "", missing.Message
	case err != nil:
		return "", "the operator cannot read the Secret " + ref.Name
	}
	return strings.TrimSpace(string(data)), ""
}

// link returns the address of an object on the page, or "".
func (s *Sender) link(a about) string {
	if s.PageURL == "" {
		return ""
	}
	place := "runs"
	if a.kind == kindChat {
		place = "chats"
	}
	return strings.Join([]string{strings.TrimSuffix(s.PageURL, "/"), a.Namespace, place, a.Name}, "/")
}

// sentence describes a notification for people. Names and tools have no characters with a meaning in Slack or Teams.
func (d eventData) sentence() string {
	text := fmt.Sprintf("%s %s/%s: ", d.Kind, d.Namespace, d.Name)
	switch {
	case d.State == v1beta1.NotifyFinished:
		text += "finished."
	case d.State == v1beta1.NotifyFailed:
		text += "failed."
	case d.Waiting != nil && d.Waiting.Kind == v1beta1.WaitingApproval:
		text += "an approval waits for a person"
		if d.Waiting.Tool != "" {
			text += " (tool `" + d.Waiting.Tool + "`)"
		}
		if d.Waiting.DenyRequesters {
			text += ", who did not request the work"
		}
		text += "."
	default:
		text += "a question waits for a person."
	}
	if d.Link != "" {
		text += "\n" + d.Link
	}
	return text
}
