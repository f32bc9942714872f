// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	api "github.com/nestor-dev/nestor/api/history/v1alpha1"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// images is the subresource transcripts/image: the bytes of an image that an entry of the transcript names.
type images struct{ transcripts *transcripts }

// New implements rest.Storage.
func (i *images) New() runtime.Object { return &api.Transcript{} }

// Destroy implements rest.Storage.
func (i *images) Destroy() {}

// NewGetOptions implements rest.GetterWithOptions.
func (i *images) NewGetOptions() (runtime.Object, bool, string) {
	return &api.TranscriptImageOptions{}, false, ""
}

// servedImages are the media types that are served as they are. Others are served as application/octet-stream, because a browser could run them.
var servedImages = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// ProducesMIMETypes implements rest.StorageMetadata.
func (i *images) ProducesMIMETypes(string) []string { return servedImages }

// ProducesObject implements rest.StorageMetadata.
func (i *images) ProducesObject(string) any { return "" }

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
	return &imageStream{image}, nil
}

// imageStream is the content of an image. It is a runtime.Object because storage must return one.
type imageStream struct{ ledger.Image }

// GetObjectKind implements runtime.Object.
func (s *imageStream) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object. An image is never changed, so nothing is copied.
func (s *imageStream) DeepCopyObject() runtime.Object { return s }

// InputStream implements rest.ResourceStreamer.
func (s *imageStream) InputStream(context.Context, string, string) (io.ReadCloser, bool, string, error) {
	mediaType := "application/octet-stream"
	if slices.Contains(servedImages, s.MediaType) {
		mediaType = s.MediaType
	}
	return io.NopCloser(bytes.NewReader(s.Data)), false, mediaType, nil
}
