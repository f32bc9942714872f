// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"encoding/base64"
	"net/http"
	"strings"
)

// imageTypes are the media types of images that most APIs accept.
func imageTypes() []string { return []string{"image/png", "image/jpeg", "image/gif", "image/webp"} }

// parseDataURL returns the parts of data:TYPE;base64,DATA.
func parseDataURL(url string) (mediaType, data string, ok bool) {
	rest, ok := strings.CutPrefix(url, "data:")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, ";base64,")
}

// isImage reports whether base64 data is an image of the type, as far as its first bytes show.
func isImage(mediaType, data string) bool {
	decoded, err := base64.StdEncoding.DecodeString(data)
	return err == nil && http.DetectContentType(decoded) == mediaType
}
