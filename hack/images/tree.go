// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// tree is a file system in memory: the content of a layer, by path. Later entries replace earlier ones.
type tree map[string]entry

type entry struct {
	header  tar.Header
	content []byte
}

func (t tree) add(name string, f file) {
	t.put(tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: f.mode}, []byte(f.content))
}

// link adds a symbolic link.
func (t tree) link(name, target string) {
	t.put(tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777}, nil)
}

func (t tree) directory(name string, mode int64) {
	t.put(tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: mode}, nil)
}

func (t tree) put(h tar.Header, content []byte) {
	h.Name = clean(h.Name)
	if h.Name == "." {
		return
	}
	if before, ok := t[h.Name]; ok && h.Typeflag == tar.TypeDir && before.header.Typeflag != tar.TypeDir {
		return // keep a link to a directory
	}
	t[h.Name] = entry{header: h, content: content}
}

func clean(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

// layer packs the tree: sorted, owned by root, with a single time.
func (t tree) layer(at time.Time, compression int) (v1.Layer, error) {
	data, err := t.pack(at)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
		tarball.WithCompressedCaching, tarball.WithCompressionLevel(compression), tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("pack a layer: %w", err)
	}
	return layer, nil
}

func (t tree) pack(at time.Time) ([]byte, error) {
	t.addParents()
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, name := range slices.Sorted(maps.Keys(t)) {
		e := t[name]
		h := tar.Header{
			Typeflag: e.header.Typeflag, Name: name, Linkname: e.header.Linkname, Mode: e.header.Mode, Size: int64(len(e.content)),
			ModTime: at, Format: tar.FormatPAX,
		}
		if h.Typeflag == tar.TypeDir {
			h.Name += "/"
		}
		if err := w.WriteHeader(&h); err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("pack a layer: %w", err)
	}
	return packed.Bytes(), nil
}

// addParents adds missing parent directories.
func (t tree) addParents() {
	for _, name := range slices.Collect(maps.Keys(t)) {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, ok := t[dir]; !ok {
				t.directory(dir, 0o755)
			}
		}
	}
}
