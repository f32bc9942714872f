// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"strings"
)

// WithImageNotes replaces each image that cannot be shown by a note: the model does not accept images, or the image was
// pruned.
func (m Message) WithImageNotes(textOnly bool) Message {
	var shown []Image
	var notes []string
	for _, image := range m.Images {
		switch {
		case textOnly:
			notes = append(notes, fmt.Sprintf("[There is an image here (%s), which you cannot see: images are not shown to you.]", image.describe()))
		case len(image.Data) == 0:
			notes = append(notes, fmt.Sprintf("[There was an image here (%s). It is no longer stored.]", image.describe()))
		default:
			shown = append(shown, image)
		}
	}
	if len(notes) > 0 {
		m.Images = shown
		m.Text = strings.TrimPrefix(m.Text+"\n"+strings.Join(notes, "\n"), "\n")
	}
	return m
}

func (i Image) describe() string {
	return fmt.Sprintf("%s, %d bytes", i.MediaType, max(i.Size, int64(len(i.Data))))
}
