// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attachment

import (
	"bytes"
	"fmt"
	"image"
	_ "image/gif"  // for DecodeConfig
	_ "image/jpeg" // for DecodeConfig
	_ "image/png"  // for DecodeConfig
	"net/http"
)

// Bounds of an image. A provider rejects a request with an unusable image, and would reject every later request of the agent too,
// because the image is part of the history.
const (
	maxImageBytes = 5 << 20
	maxImageSide  = 8000 // pixels
)

// notAnImage is the reason for content of another kind.
const notAnImage = "it is not a PNG, JPEG, GIF or WebP image"

// CheckImage returns the media type detected from the bytes of an image, or why models cannot be shown it.
func CheckImage(data []byte) (mediaType, reason string) {
	if len(data) > maxImageBytes {
		return "", fmt.Sprintf("it has %d bytes, and at most %d MB are shown", len(data), maxImageBytes>>20)
	}
	mediaType = http.DetectContentType(data)
	switch mediaType {
	case "image/webp":
		return mediaType, ""
	case "image/png", "image/jpeg", "image/gif":
	default:
		return "", notAnImage
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case err != nil:
		return "", "it is damaged"
	case config.Width > maxImageSide || config.Height > maxImageSide:
		return "", fmt.Sprintf("it has %d x %d pixels, and at most %d x %d are shown", config.Width, config.Height, maxImageSide, maxImageSide)
	}
	return mediaType, ""
}
