// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"slices"
	"strings"
)

// Image refers to a picture that a tool returned. The bytes are in the ledger, once for each content: states and events never hold them.
type Image struct {
	// Digest identifies the content: "sha256:" and hexadecimal digits.
	Digest    string `json:"digest"`
	MediaType string `json:"mediaType"`
	Size      int64  `json:"size"`
}

// String is what people and models without images read in place of the picture.
func (i Image) String() string {
	switch {
	case i.Size >= 1<<20:
		return fmt.Sprintf("%s, %.1f MB", i.MediaType, float64(i.Size)/(1<<20))
	case i.Size >= 1<<10:
		return fmt.Sprintf("%s, %d KB", i.MediaType, i.Size>>10)
	}
	return fmt.Sprintf("%s, %d bytes", i.MediaType, i.Size)
}

// Bounds of the images in one prompt. A request with more is refused by some providers, and costs as much on every turn.
const (
	maxPromptImages     = 16
	maxPromptImageBytes = 16 << 20
)

// showImages keeps the newest images of a prompt within its bounds, and says in words what the older ones were.
func showImages(messages []Message) []Message {
	count, size, copied := 0, int64(0), false
	for i, m := range slices.Backward(messages) {
		shown := len(m.Images)
		for shown > 0 && count < maxPromptImages && size+m.Images[shown-1].Size <= maxPromptImageBytes {
			shown--
			count++
			size += m.Images[shown].Size
		}
		if shown == 0 {
			continue
		}
		count = maxPromptImages // whatever is older is not shown either
		if !copied {
			messages, copied = slices.Clone(messages), true
		}
		m.Text = strings.TrimPrefix(m.Text+"\n"+textImagesGone(m.Images[:shown]), "\n")
		m.Images = m.Images[shown:]
		messages[i] = m
	}
	return messages
}

func textImagesGone(images []Image) string {
	lines := make([]string, len(images))
	for i, image := range images {
		lines[i] = fmt.Sprintf("[An earlier image (%s) is no longer shown. Call the tool again if you need to look at it.]", image)
	}
	return strings.Join(lines, "\n")
}

// images are the pictures that a group's tool returned. What other agents have seen stays with them.
func (g Group) images(members []Child) []Image {
	if g.Style != StyleTool || len(members) != 1 || members[0].Outcome == nil || members[0].Outcome.Result == nil {
		return nil
	}
	return members[0].Outcome.Result.Images
}

// ImagesOf lists the images that a fact brings into the state of an agent.
func ImagesOf(fact Fact) []Image {
	switch f := fact.(type) {
	case ToolFinished:
		return f.Images
	case ChildFinished:
		if f.Outcome.Result != nil {
			return f.Outcome.Result.Images
		}
	case Started:
		var images []Image
		for _, m := range f.History {
			images = append(images, m.Images...)
		}
		return images
	}
	return nil
}
