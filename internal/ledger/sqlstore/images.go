// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/nestor-dev/nestor/internal/ledger"
)

const (
	insertImage = `INSERT INTO images (digest, media_type, used_at, data) VALUES ($1, $2, $3, $4)
	ON CONFLICT (digest) DO UPDATE SET used_at = excluded.used_at`
	touchImage = `UPDATE images SET used_at = $1 WHERE digest = $2`
	useImage   = `INSERT INTO image_uses (agent_uid, digest) VALUES ($1, $2) ON CONFLICT (agent_uid, digest) DO NOTHING`
	// dropImages checks the time again, because another writer may just have touched the row without a row in the list
	// of uses yet.
	dropImages = `DELETE FROM images WHERE used_at < $1 AND digest IN (
	SELECT i.digest FROM images i WHERE i.used_at < $1 AND NOT EXISTS (SELECT 1 FROM image_uses u WHERE u.digest = i.digest) LIMIT $2)`
)

// imageSteps adds the statements that store the images of a batch and the agent's references to them.
func imageSteps(steps []step, b *ledger.Batch) []step {
	for i := range b.Images {
		image := &b.Images[i]
		used := micros(b.Events[len(b.Events)-1].At)
		row := statement(touchImage, used, text(image.Digest))
		if image.Data != nil {
			row = statement(insertImage, text(image.Digest), text(image.MediaType), used, image.Data)
		}
		steps = append(steps, step{Statement: row}, step{Statement: statement(useImage, b.Agent, text(image.Digest))})
	}
	return steps
}

func (s *Store) Images(ctx context.Context, digests []string) ([]ledger.Image, error) {
	if len(digests) == 0 {
		return nil, nil
	}
	var w where
	these := make([]string, len(digests))
	for i, digest := range digests {
		these[i] = w.arg(text(digest))
	}
	images, err := list(ctx, s.driver.Reader(), scanImage,
		`SELECT digest, media_type, data FROM images WHERE digest IN (`+strings.Join(these, ", ")+`)`, w.args...)
	return images, s.fail("read images", err)
}

func (s *Store) ImageOf(ctx context.Context, agent, digest string) (ledger.Image, error) {
	var images []ledger.Image
	_, err := s.throughOrigins(ctx, agent, func(uid string, _ int64) (bool, error) {
		var err error
		images, err = list(ctx, s.driver.Reader(), scanImage,
			`SELECT i.digest, i.media_type, i.data FROM image_uses u JOIN images i ON i.digest = u.digest WHERE u.agent_uid = $1 AND u.digest = $2`, uid, text(digest))
		return len(images) > 0, err
	})
	if err == nil && len(images) == 0 {
		return ledger.Image{}, fmt.Errorf("image %s of agent %s: %w", digest, agent, ledger.ErrNotFound)
	}
	if err != nil {
		return ledger.Image{}, s.fail("read an image", err)
	}
	return images[0], nil
}

var scanImage = into(func(image *ledger.Image) []any { return []any{&image.Digest, &image.MediaType, &image.Data} })
