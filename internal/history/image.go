// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// images is the subresource transcripts/image: the bytes of an image that an entry of the transcript names.
type images struct {
	streamed
	transcripts *transcripts
}

func (i *images) NewGetOptions() (runtime.Object, bool, string) {
	return &api.TranscriptImageOptions{}, false, ""
}

// servedImages are the media types that are served as they are. Others are served as application/octet-stream, because a browser could run them.
var servedImages = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// Get returns the image. Only an image that the agent's own events refer to is found: digests of other agents' images are not a key to
// them.
func (i *images) Get(ctx context.Context, name string, options runtime.Object) (runtime.Object, error) {
	wanted, ok := options.(*api.TranscriptImageOptions)
	if !ok {
		return nil, apierrors.NewInternalError(fmt.Errorf("options of type %T", options))
	}
	if wanted.Digest == "" {
		return nil, apierrors.NewBadRequest("set digest to that of an image in an entry of the transcript")
	}
	run, err := i.transcripts.find(ctx, genericapirequest.NamespaceValue(ctx), name)
	if err != nil {
		return nil, err
	}
	image, err := i.transcripts.ledger.ImageOf(ctx, run.UID, wanted.Digest)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, notFound("transcripts/image", name, "no entry of the transcript has an image with this digest")
	}
	if err != nil {
		return nil, statusError(err)
	}
	mediaType := "application/octet-stream"
	if slices.Contains(servedImages, image.MediaType) {
		mediaType = image.MediaType
	}
	return &content{data: image.Data, mediaType: mediaType}, nil
}
