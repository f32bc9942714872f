// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/tool"
)

// toolFinished converts a result to a fact. Images are stored in the ledger with the event, which only refers to them.
func toolFinished(e agent.RunTool, result tool.Result) (agent.ToolFinished, []ledger.Image) {
	fact := agent.ToolFinished{Call: e.Call, Outcome: toolOutcome(result), Text: result.Text, Diff: result.Output.Diff, Content: agent.Content(result.Content)}
	var images []ledger.Image
	for _, image := range result.Output.Images {
		digest := ImageDigest(image.Data)
		fact.Images = append(fact.Images, agent.Image{Digest: digest, MediaType: image.MIMEType, Size: int64(len(image.Data))})
		images = append(images, ledger.Image{Digest: digest, MediaType: image.MIMEType, Data: image.Data})
	}
	return fact, images
}

// ImageDigest returns the digest of an image by which facts refer to it.
func ImageDigest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// addImages adds the images of an event to a batch: new images with their data, and references to images that the
// ledger already has from another agent.
func addImages(b *ledger.Batch, fact agent.Fact, added []ledger.Image) {
	for _, ref := range agent.ImagesOf(fact) {
		if slices.ContainsFunc(b.Images, func(known ledger.Image) bool { return known.Digest == ref.Digest }) {
			continue
		}
		image := ledger.Image{Digest: ref.Digest, MediaType: ref.MediaType}
		if i := slices.IndexFunc(added, func(other ledger.Image) bool { return other.Digest == ref.Digest }); i >= 0 {
			image = added[i]
		}
		b.Images = append(b.Images, image)
	}
}

// withImages loads the images that a request refers to.
func (e *Engine) withImages(ctx context.Context, req model.Request) (model.Request, error) {
	var digests []string
	for _, m := range req.Messages {
		for _, image := range m.Images {
			if !slices.Contains(digests, image.Digest) {
				digests = append(digests, image.Digest)
			}
		}
	}
	if len(digests) == 0 || req.TextOnly {
		return req, nil
	}
	images, err := e.options.Ledger.Images(ctx, digests)
	if err != nil {
		return req, fmt.Errorf("load images: %w", err)
	}
	data := make(map[string][]byte, len(images))
	for _, image := range images {
		data[image.Digest] = image.Data
	}
	req.Messages = slices.Clone(req.Messages)
	for i, m := range req.Messages {
		if len(m.Images) == 0 {
			continue
		}
		m.Images = slices.Clone(m.Images)
		for j := range m.Images {
			m.Images[j].Data = data[m.Images[j].Digest]
		}
		req.Messages[i] = m
	}
	return req, nil
}
