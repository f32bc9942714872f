// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"fmt"
	"strings"

	"github.com/nestor-dev/nestor/internal/attachment"
)

// Bounds of all images in one call. Each image has its own bounds too.
const (
	maxImages    = 8
	maxAllImages = 10 << 20
)

// filterImages keeps the images that models accept, in order, with the media type detected from their bytes. For
// every other image, it adds the reason to the text.
func (o Output) filterImages() Output {
	var usable []Image
	var notes []string
	size := 0
	for i, picture := range o.Images {
		mediaType, reason := attachment.CheckImage(picture.Data)
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
		notes = append(notes, fmt.Sprintf("[image %d of %d is not shown: %s]", i+1, len(o.Images), reason))
	}
	o.Images = usable
	if len(notes) > 0 {
		o.Text = strings.TrimPrefix(o.Text+"\n"+strings.Join(notes, "\n"), "\n")
	}
	return o
}
