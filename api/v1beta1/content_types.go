// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// ContentLabel describes where content comes from. An agent has the labels of everything that it has received.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?|user:[!-~]+)$')",message="must have only lower-case letters, digits and hyphens, and begin and end with a letter or digit, or be user: and the name of a person"
type ContentLabel string

// ContentUntrusted is the label of content from outside: tool results, skills, attachments, requests and objects that fire triggers, and
// remote agents, unless the source is trusted.
const ContentUntrusted = "untrusted"

// ReceivedLabel is a content label of an agent, with its first source.
type ReceivedLabel struct {
	// name is the label.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern="^([a-z0-9-]+|user:[!-~]+)$"
	Name string `json:"name"`
	// source is the tool whose result first had the label, or another source, such as parent, message or skills.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Source string `json:"source,omitempty"`
	// toolCall is the tool call, or the message, that brought the label. A long name is shortened.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	ToolCall string `json:"toolCall,omitempty"`
}

// Content returns the labels of content from a source with these fields.
func Content(trusted bool, labels []ContentLabel) []ContentLabel {
	if trusted {
		return labels
	}
	return append([]ContentLabel{ContentUntrusted}, labels...)
}

// ContentNames returns labels as plain text.
func ContentNames(labels []ContentLabel) []string {
	var names []string
	for _, label := range labels {
		names = append(names, string(label))
	}
	return names
}
