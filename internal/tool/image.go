// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"bytes"
	"fmt"
	"image"
	_ "image/gif"  // for DecodeConfig
	_ "image/jpeg" // for DecodeConfig
	_ "image/png"  // for DecodeConfig
	"net/http"
	"strings"
)

// Bounds of the images of one call. A provider rejects a request with an unusable image, and would reject every later
// request of the agent too, because the image is part of the history.
const (
	maxImages     = 8
	maxImageBytes = 5 << 20
	maxAllImages  = 10 << 20
	maxImageSide  = 8000 // pixels
)

// filterImages keeps the images that models accept, in order, with the media type detected from their bytes. For each of
// the others, the text says why it is missing.
func (o Output) filterImages() Output {
	var usable []Image
	var left []string
	size := 0
	for i, picture := range o.Images {
		mediaType, reason := checkImage(picture.Data)
		switch {
		case reason != "":
		case len(usable) == maxImages:
			reason = fmt.Sprintf("a call shows at most %d images", maxImages)
		case size+len(picture.Data) > maxAllImages:
			reason = fmt.Sprintf("the images of a call have at most %d MB together", maxAllImages>>20)
		default:
			usable = append(usable, Image{MIMEType: mediaType, Data: picture.Data})
			size += len(picture.Data)
			continue
		}
		left = append(left, fmt.Sprintf("[image %d of %d is not shown: %s]", i+1, len(o.Images), reason))
	}
	o.Images = usable
	if len(left) > 0 {
		o.Text = strings.TrimPrefix(o.Text+"\n"+strings.Join(left, "\n"), "\n")
	}
	return o
}

// checkImage returns the media type detected from the bytes, or why the image cannot be shown.
func checkImage(data []byte) (mediaType, reason string) {
	if len(data) > maxImageBytes {
		return "", fmt.Sprintf("it has %d bytes, and at most %d MB are shown", len(data), maxImageBytes>>20)
	}
	mediaType = http.DetectContentType(data)
	switch mediaType {
	case "image/webp":
		return mediaType, ""
	case "image/png", "image/jpeg", "image/gif":
	default:
		return "", "it is not a PNG, JPEG, GIF or WebP image"
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
