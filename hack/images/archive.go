// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// artifact is a written image: of one platform, or an index of several.
type artifact struct {
	digest v1.Hash
	size   int64
	image  v1.Image
	index  v1.ImageIndex
}

// write writes an image as an archive in OCI layout, which containerd, Podman and Docker load.
func (o *options) write(i image, all []built) (artifact, error) {
	dir, err := os.MkdirTemp("", "nestor-image-")
	if err != nil {
		return artifact{}, fmt.Errorf("create a directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return artifact{}, fmt.Errorf("write the layout: %w", err)
	}
	reference := o.reference(o.repository, i)
	named := layout.WithAnnotations(map[string]string{
		"io.containerd.image.name": reference, "org.opencontainers.image.ref.name": reference[strings.LastIndex(reference, ":")+1:],
	})
	a := artifact{image: all[0].image}
	if len(all) == 1 {
		if a.digest, err = a.image.Digest(); err == nil {
			err = path.AppendImage(a.image, named)
		}
	} else {
		a.image, a.index = nil, index(all)
		if a.digest, err = a.index.Digest(); err == nil {
			err = path.AppendIndex(a.index, named)
		}
	}
	if err != nil {
		return artifact{}, fmt.Errorf("write the image: %w", err)
	}
	if err := writeDockerManifest(dir, reference, all); err != nil {
		return artifact{}, err
	}
	a.size, err = pack(dir, filepath.Join(o.out, i.name+o.variant()+".tar"), o.created)
	return a, err
}

// index returns an index of the images of several platforms.
func index(all []built) v1.ImageIndex {
	var adds []mutate.IndexAddendum
	for _, b := range all {
		adds = append(adds, mutate.IndexAddendum{Add: b.image, Descriptor: v1.Descriptor{Platform: &b.platform}})
	}
	return mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), adds...)
}

// writeDockerManifest adds a manifest for Docker before version 27, which does not support the OCI layout.
func writeDockerManifest(dir, reference string, all []built) error {
	at := max(0, slices.IndexFunc(all, func(b built) bool { return b.platform.Architecture == runtime.GOARCH }))
	manifest, err := all[at].image.Manifest()
	if err != nil {
		return fmt.Errorf("read the manifest: %w", err)
	}
	blob := func(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }
	var layers []string
	for _, layer := range manifest.Layers {
		layers = append(layers, blob(layer.Digest))
	}
	text, err := json.Marshal([]map[string]any{{"Config": blob(manifest.Config.Digest), "RepoTags": []string{reference}, "Layers": layers}})
	if err != nil {
		return fmt.Errorf("write the manifest for Docker: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, "manifest.json"), text, 0o644)
}

// pack writes a directory as a reproducible archive, without times and owners, and returns its size.
func pack(dir, target string, at time.Time) (size int64, err error) {
	out, err := os.Create(target)
	if err != nil {
		return 0, fmt.Errorf("create the archive: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w := tar.NewWriter(out)
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error { // in lexical order
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: filepath.ToSlash(inside), Mode: 0o644, Size: int64(len(content)), ModTime: at, Format: tar.FormatPAX}); err != nil {
			return err
		}
		size += int64(len(content))
		_, err = w.Write(content)
		return err
	})
	if err := errors.Join(err, w.Close()); err != nil {
		return 0, fmt.Errorf("write the archive: %w", err)
	}
	return size, nil
}

// pushImage pushes the image to the registry, if one is set.
func (o *options) pushImage(ctx context.Context, i image, a artifact) error {
	if o.push == "" {
		return nil
	}
	var options []name.Option
	if o.insecure {
		options = append(options, name.Insecure)
	}
	reference, err := name.ParseReference(o.reference(o.push, i), options...)
	if err != nil {
		return fmt.Errorf("push: %w", err)
	}
	remoteOptions := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	if a.index != nil {
		err = remote.WriteIndex(reference, a.index, remoteOptions...)
	} else {
		err = remote.Write(reference, a.image, remoteOptions...)
	}
	if err != nil {
		return fmt.Errorf("push %s: %w", reference, err)
	}
	return nil
}

// writeSums writes the checksums of all files in a directory in the format of sha256sum.
func writeSums(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	var sums strings.Builder
	for _, entry := range entries {
		if entry.IsDir() || entry.Name() == sumsFile {
			continue
		}
		sum, err := fileChecksum(filepath.Join(dir, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%s  %s\n", sum, entry.Name())
	}
	if err := os.WriteFile(filepath.Join(dir, sumsFile), []byte(sums.String()), 0o644); err != nil {
		return fmt.Errorf("write the checksums: %w", err)
	}
	return nil
}

const sumsFile = "SHA256SUMS"

func fileChecksum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("sum %s: %w", path, err)
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", fmt.Errorf("sum %s: %w", path, err)
	}
	return fmt.Sprintf("%x", hash.Sum(nil)), nil
}
