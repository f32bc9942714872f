// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

// Image is a picture that events of agents refer to. Each content is kept once, for as long as an agent that refers to it is kept.
type Image struct {
	// Digest identifies the content.
	Digest    string
	MediaType string
	// Data is the content. In a batch it is nil for an image that the ledger has already: the agent then refers to that one.
	Data []byte
}
