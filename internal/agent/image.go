// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"slices"
	"strings"
)

// Image refers to an image that a tool returned or a person attached. The ledger stores the bytes once for each content: states and events never
// contain them.
type Image struct {
	// Digest identifies the content: "sha256:" and hexadecimal digits.
	Digest    string `json:"digest"`
	MediaType string `json:"mediaType"`
	Size      int64  `json:"size"`
	// Name is the name of an image that a person attached.
	Name string `json:"name,omitempty"`
}

// String returns the text that replaces the image for people and for models without image input.
func (i Image) String() string {
	if i.Name != "" {
		return i.Name + ", " + Image{MediaType: i.MediaType, Size: i.Size}.String()
	}
	switch {
	case i.Size >= 1<<20:
		return fmt.Sprintf("%s, %.1f MB", i.MediaType, float64(i.Size)/(1<<20))
	case i.Size >= 1<<10:
		return fmt.Sprintf("%s, %d KB", i.MediaType, i.Size>>10)
	}
	return fmt.Sprintf("%s, %d bytes", i.MediaType, i.Size)
}

// The limits for images in one prompt. Some providers refuse more, and every image costs tokens in every iteration.
const (
	maxPromptImages     = 16
	maxPromptImageBytes = 16 << 20
)

// limitImages keeps the newest images of a prompt within the limits and replaces older ones by text.
func limitImages(messages []Message) []Message {
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
		count = maxPromptImages // omit everything older as well
		if !copied {
			messages, copied = slices.Clone(messages), true
		}
		m.Text = strings.TrimPrefix(m.Text+"\n"+textImagesOmitted(m.Images[:shown]), "\n")
		m.Images = m.Images[shown:]
		messages[i] = m
	}
	return messages
}

func textImagesOmitted(images []Image) string {
	lines := make([]string, len(images))
	for i, image := range images {
		again := "Call the tool again"
		if image.Name != "" {
			again = "Ask the user to attach it again"
		}
		lines[i] = fmt.Sprintf("[An earlier image (%s) is no longer shown. %s if you need it.]", image, again)
	}
	return strings.Join(lines, "\n")
}

// images returns the images of a tool run. Images of sub-agents are not passed on.
func (g Group) images(members []Child) []Image {
	if g.Style != StyleTool || len(members) != 1 || members[0].Outcome == nil || members[0].Outcome.Result == nil {
		return nil
	}
	return members[0].Outcome.Result.Images
}

// ImagesOf lists the images that a fact adds to the state of an agent.
func ImagesOf(fact Fact) []Image {
	switch f := fact.(type) {
	case ToolFinished:
		return f.Images
	case MessageArrived:
		return f.Images
	case Answered:
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
