// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

// Image is an image that events refer to. Each content is stored once, and kept while an agent that refers to it is kept.
type Image struct {
	Digest    string
	MediaType string
	// Data is the content. In a batch it is nil for an image that the ledger already has.
	Data []byte
}
