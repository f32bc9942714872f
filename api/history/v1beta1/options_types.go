// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TranscriptOptions are the query parameters of a get of a transcript, which select a page of its entries.
//
// +kubebuilder:object:root=true
type TranscriptOptions struct {
	metav1.TypeMeta `json:",inline"`
	// since leaves out the entries up to and including this seq. To get the following page, set it to next of this
	// page.
	// +optional
	Since int64 `json:"since,omitempty"`
	// limit is the maximum number of entries, 1 to 1000; the default is 500. A page may have fewer entries even if
	// there is a next one.
	// +optional
	Limit int64 `json:"limit,omitempty"`
	// tail returns this many of the newest entries instead; it cannot be combined with since.
	// +optional
	Tail int64 `json:"tail,omitempty"`
}

// TranscriptLogOptions are the query parameters of a transcript's log, which is a stream of entries, one JSON object
// per line.
//
// +kubebuilder:object:root=true
type TranscriptLogOptions struct {
	metav1.TypeMeta `json:",inline"`
	// since leaves out the entries up to and including this seq: after a disconnect, a reader continues with the last
	// seq that it has.
	// +optional
	Since int64 `json:"since,omitempty"`
	// tail starts with this many of the newest entries instead; it cannot be combined with since.
	// +optional
	Tail int64 `json:"tail,omitempty"`
	// limit ends the log after this many entries; 0 means no limit. It cannot be combined with follow.
	// +optional
	Limit int64 `json:"limit,omitempty"`
	// follow keeps the log open until the agent has ended, with Delta entries while replies stream in.
	// +optional
	Follow bool `json:"follow,omitempty"`
	// deltas false leaves the Delta entries out; the default is true.
	// +optional
	Deltas *bool `json:"deltas,omitempty"`
}

// TranscriptImageOptions are the query parameters of a transcript's image.
//
// +kubebuilder:object:root=true
type TranscriptImageOptions struct {
	metav1.TypeMeta `json:",inline"`
	// digest is the digest of an image in an entry of the transcript.
	// +required
	Digest string `json:"digest"`
}

// TranscriptTraceOptions are the query parameters of a transcript's trace, which select a page of its segments.
//
// +kubebuilder:object:root=true
type TranscriptTraceOptions struct {
	metav1.TypeMeta `json:",inline"`
	// since begins with the segment of this seq. To get the following page, set it to next of this page; to read new
	// segments, to the seq of the last segment.
	// +optional
	Since int64 `json:"since,omitempty"`
	// limit is the maximum number of segments, 1 to 1000, which is the default.
	// +optional
	Limit int64 `json:"limit,omitempty"`
}

// TranscriptCallsOptions are the query parameters of a transcript's calls, which select a page of them.
//
// +kubebuilder:object:root=true
type TranscriptCallsOptions struct {
	metav1.TypeMeta `json:",inline"`
	// since leaves out the moments up to and including this seq. To get the following page, set it to next of this
	// page.
	// +optional
	Since int64 `json:"since,omitempty"`
	// sinceTime leaves out the moments before this time, as RFC 3339.
	// +optional
	SinceTime *metav1.Time `json:"sinceTime,omitempty"`
	// limit is the approximate maximum number of moments, 1 to 1000; the default is 500. A page may have fewer even if
	// there is a next one.
	// +optional
	Limit int64 `json:"limit,omitempty"`
}
