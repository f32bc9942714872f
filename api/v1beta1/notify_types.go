// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// NotifyState is a change of a run that a receiver is notified of.
// +kubebuilder:validation:Enum=Waiting;Finished;Failed
type NotifyState string

// The states of notifications.
const (
	// NotifyWaiting: a question or an approval waits for a person.
	NotifyWaiting NotifyState = "Waiting"
	// NotifyFinished: a task ended with a result, or a turn of a chat with an answer.
	NotifyFinished NotifyState = "Finished"
	// NotifyFailed: a task or a turn of a chat ended without a result, or a limit paused the chat.
	NotifyFailed NotifyState = "Failed"
)

// NotifyReceivers are the receivers of the notifications about an object.
// +kubebuilder:validation:MaxItems=4
// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, has(a.webhook) && has(b.webhook) && a.webhook.urlKeyRef.name == b.webhook.urlKeyRef.name && a.webhook.urlKeyRef.key == b.webhook.urlKeyRef.key || has(a.webhook) && has(b.slack) && a.webhook.urlKeyRef.name == b.slack.urlKeyRef.name && a.webhook.urlKeyRef.key == b.slack.urlKeyRef.key || has(a.slack) && has(b.webhook) && a.slack.urlKeyRef.name == b.webhook.urlKeyRef.name && a.slack.urlKeyRef.key == b.webhook.urlKeyRef.key || has(a.slack) && has(b.slack) && a.slack.urlKeyRef.name == b.slack.urlKeyRef.name && a.slack.urlKeyRef.key == b.slack.urlKeyRef.key))",message="each receiver needs another urlKeyRef: it identifies the receiver"
type NotifyReceivers []NotifyReceiver

// NotifyReceiver is a URL that is notified of changes of a run.
// +kubebuilder:validation:XValidation:rule="has(self.webhook) != has(self.slack)",message="set exactly one of webhook and slack"
type NotifyReceiver struct {
	// on lists the states that the receiver is notified of: Waiting, Finished and Failed. In YAML the key needs quotes, because on means
	// true there.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	On []NotifyState `json:"on"`
	// webhook receives signed CloudEvents.
	// +optional
	Webhook *NotifyWebhook `json:"webhook,omitempty"`
	// slack is an incoming webhook of Slack, or of Microsoft Teams.
	// +optional
	Slack *NotifySlack `json:"slack,omitempty"`
}

// URLKeyRef returns the key of the Secret with the URL.
func (r NotifyReceiver) URLKeyRef() SecretKeyRef {
	if r.Webhook != nil {
		return r.Webhook.URLKeyRef
	}
	if r.Slack != nil {
		return r.Slack.URLKeyRef
	}
	return SecretKeyRef{}
}

// NotifyWebhook receives signed CloudEvents.
type NotifyWebhook struct {
	// urlKeyRef is the key of a Secret in this namespace with the URL, which begins with https://.
	// +required
	URLKeyRef SecretKeyRef `json:"urlKeyRef"`
	// secretKeyRef is the key of a Secret in this namespace with the key of the signatures.
	// +required
	SecretKeyRef SecretKeyRef `json:"secretKeyRef"`
}

// NotifySlack is an incoming webhook of Slack, or of Microsoft Teams.
type NotifySlack struct {
	// urlKeyRef is the key of a Secret in this namespace with the URL, which begins with https://.
	// +required
	URLKeyRef SecretKeyRef `json:"urlKeyRef"`
}
