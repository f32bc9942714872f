// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TranscriptOptions are the query parameters of a get of a transcript: which page of its entries.
//
// +kubebuilder:object:root=true
type TranscriptOptions struct {
	metav1.TypeMeta `json:",inline"`
	// since leaves out the entries up to and including this seq; the next of a page is the since of the page after it.
	// +optional
	Since int64 `json:"since,omitempty"`
	// limit is the largest number of entries wanted, 1 to 1000; the default is 500. A page may have fewer, and still a next one.
	// +optional
	Limit int64 `json:"limit,omitempty"`
	// tail asks for this many of the newest entries instead; it does not go with since.
	// +optional
	Tail int64 `json:"tail,omitempty"`
}

// TranscriptLogOptions are the query parameters of a transcript's log, which is a stream of entries, one JSON object a line.
//
// +kubebuilder:object:root=true
type TranscriptLogOptions struct {
	metav1.TypeMeta `json:",inline"`
	// since leaves out the entries up to and including this seq: a reader that was cut off goes on with the last seq that it has.
	// +optional
	Since int64 `json:"since,omitempty"`
	// tail begins with this many of the newest entries instead; it does not go with since.
	// +optional
	Tail int64 `json:"tail,omitempty"`
	// limit ends the log after so many entries; 0 is no limit. It does not go with follow.
	// +optional
	Limit int64 `json:"limit,omitempty"`
	// follow keeps the log open until the agent has ended, with Delta entries while replies stream in.
	// +optional
	Follow bool `json:"follow,omitempty"`
	// deltas false leaves the Delta entries out; the default is true.
	// +optional
	Deltas *bool `json:"deltas,omitempty"`
}
