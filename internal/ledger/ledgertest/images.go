// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"bytes"
	"errors"
	"testing"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// firstWithImages returns the first batch of an agent whose events refer to images.
func firstWithImages(uid string, images ...ledger.Image) ledger.Batch {
	batch := First(Agent(uid), 1)
	batch.Images = images
	return batch
}

func testImagesAreStoredOnce(t *testing.T, db Database) {
	l := db.Open(t)
	red := ledger.Image{Digest: "sha256:red", MediaType: "image/png", Data: []byte("\x89PNG\x00red")}
	blue := ledger.Image{Digest: "sha256:blue", MediaType: "image/jpeg", Data: []byte("blue")}
	Append(t, l, firstWithImages("a", red, blue), firstWithImages("b", red), firstWithImages("c", ledger.Image{Digest: blue.Digest, MediaType: blue.MediaType}))
	if n := db.rows(t, "images"); n != 2 {
		t.Errorf("%d images are stored, want 2", n)
	}
	images := must(l.Images(t.Context(), []string{red.Digest, "sha256:none", blue.Digest}))(t)
	if len(images) != 2 {
		t.Fatalf("found %d images, want 2", len(images))
	}
	for _, image := range images {
		want := red
		if image.Digest == blue.Digest {
			want = blue
		}
		if image.MediaType != want.MediaType || !bytes.Equal(image.Data, want.Data) {
			t.Errorf("image %+v, want %+v", image, want)
		}
	}
	if own := must(l.ImageOf(t.Context(), "c", blue.Digest))(t); own.MediaType != blue.MediaType || !bytes.Equal(own.Data, blue.Data) {
		t.Errorf("the image of an agent is %+v, want %+v", own, blue)
	}
	for agent, digest := range map[string]string{"b": blue.Digest, "c": red.Digest, "a": "sha256:none", "nobody": red.Digest} {
		if other, err := l.ImageOf(t.Context(), agent, digest); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("agent %s does not refer to %s, but got %+v (%v)", agent, digest, other, err)
		}
	}
	if none := must(l.Images(t.Context(), nil))(t); len(none) != 0 {
		t.Errorf("no digests returned %d images", len(none))
	}
	bad := ledger.Batch{Agent: "a", After: 1, Events: Events("a", 1), Images: []ledger.Image{{MediaType: "image/png"}}}
	if err := l.Append(t.Context(), bad); !errors.Is(err, ledger.ErrInvalid) {
		t.Errorf("an image without a digest: %v, want ErrInvalid", err)
	}
}

func testImagesAreDeletedWithTheirAgents(t *testing.T, db Database) {
	l := db.Open(t)
	red := ledger.Image{Digest: "sha256:red", MediaType: "image/png", Data: []byte("red")}
	blue := ledger.Image{Digest: "sha256:blue", MediaType: "image/png", Data: []byte("blue")}
	old := firstWithImages("old", red, blue)
	old.Finish = &ledger.Finish{Status: ledger.StatusSuccess, At: at(10)}
	Append(t, l, old, firstWithImages("live", blue))
	must(ledger.Retain(t.Context(), l, at(500)))(t)
	left := must(l.Images(t.Context(), []string{red.Digest, blue.Digest}))(t)
	if len(left) != 1 || left[0].Digest != blue.Digest {
		t.Errorf("remaining images: %v, want only the one of the live agent", left)
	}
	if n := db.rows(t, "image_uses"); n != 1 {
		t.Errorf("%d uses remain, want 1", n)
	}
}
