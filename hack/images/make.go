// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// built is an image for one platform with its program and packages.
type built struct {
	platform v1.Platform
	image    v1.Image
	program  string
	packages []debPackage
}

// make builds an image for all platforms, and writes it with its bill of materials.
func (o *options) make(ctx context.Context, i image) error {
	start := time.Now()
	var all []built
	for _, platform := range o.platforms {
		b, err := o.build(ctx, i, platform)
		if err != nil {
			return err
		}
		all = append(all, b)
	}
	artifact, err := o.write(i, all)
	if err != nil {
		return err
	}
	if err := o.writeSPDX(i, artifact, all); err != nil {
		return err
	}
	if err := o.pushImage(ctx, i, artifact); err != nil {
		return err
	}
	fmt.Fprintf(o.log, "%s@%s  %.1f MB in %.1f s\n", o.reference(o.repository, i), artifact.digest, float64(artifact.size)/1e6, time.Since(start).Seconds())
	return nil
}

func (o *options) reference(repository string, i image) string {
	tag := o.version
	if i.testOnly {
		tag = "dev"
	}
	return repository + "/" + i.name + ":" + tag + o.variant()
}

// variant is the end of the tag and the file names of FIPS images.
func (o *options) variant() string {
	if o.fips == "" {
		return ""
	}
	return "-fips"
}

func (o *options) build(ctx context.Context, i image, platform v1.Platform) (built, error) {
	b := built{platform: platform}
	var layers []tree
	if len(i.packages) > 0 {
		t, packages, err := o.debian(ctx, platform.Architecture, i.packages)
		if err != nil {
			return b, err
		}
		b.packages = packages
		layers = append(layers, t)
	}
	own := tree{}
	entrypoint := i.entrypoint
	if i.command != "" || i.nodeBinary != "" {
		name, err := o.program(ctx, i, platform)
		if err != nil {
			return b, err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return b, fmt.Errorf("read the program: %w", err)
		}
		b.program = name
		own.add("usr/local/bin/"+i.name, file{content: string(content), mode: 0o755}) // on the PATH, because pods use the bare name
		entrypoint = []string{"/usr/local/bin/" + i.name}
	}
	own.addCommonFiles(i)
	layers = append(layers, own)
	var err error
	b.image, err = o.assemble(i, platform, entrypoint, layers)
	return b, err
}

func (t tree) addCommonFiles(i image) {
	t.add(certificatesPath, certificates())
	t.add("etc/passwd", file{content: "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/bin/bash\n", mode: 0o644})
	t.add("etc/group", file{content: "root:x:0:\nnonroot:x:65532:\n", mode: 0o644})
	t.add("etc/nsswitch.conf", file{content: "passwd: files\ngroup: files\nhosts: files dns\n", mode: 0o644})
	t.directory("tmp", 0o1777)
	t.directory("home/nonroot", 0o777)
	for name, f := range i.files {
		t.add(name, f)
	}
}

// program builds the program of an image, or returns that of the test cluster.
func (o *options) program(ctx context.Context, i image, platform v1.Platform) (string, error) {
	if i.nodeBinary != "" {
		name := filepath.Join(o.node, i.nodeBinary)
		if _, err := os.Stat(name); err != nil {
			return "", fmt.Errorf("%w: run make node first", err)
		}
		return name, nil
	}
	name := filepath.Join(o.out, ".programs", platform.Architecture+o.variant(), i.name)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags=grpcnotrace", "-buildvcs=false",
		"-ldflags", "-s -w -buildid= -X github.com/nestor-dev/nestor/internal/version.version="+o.version, "-o", name, i.command)
	cmd.Dir = o.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=", "GOFIPS140="+cmp.Or(o.fips, "off"), "GOOS="+platform.OS, "GOARCH="+platform.Architecture)
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", i.command, err, output)
	}
	return name, nil
}

func (o *options) assemble(i image, platform v1.Platform, entrypoint []string, layers []tree) (v1.Image, error) {
	img := mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1)
	compression := gzip.DefaultCompression
	if o.fast {
		compression = gzip.BestSpeed
	}
	var addenda []mutate.Addendum
	for _, t := range layers {
		layer, err := t.layer(o.created, compression)
		if err != nil {
			return nil, err
		}
		addenda = append(addenda, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: o.created}, CreatedBy: "hack/images"}})
	}
	img, err := mutate.Append(img, addenda...)
	if err != nil {
		return nil, fmt.Errorf("append the layers: %w", err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Variant = platform.OS, platform.Architecture, platform.Variant
	config.Created = v1.Time{Time: o.created}
	config.Config = v1.Config{
		Entrypoint: entrypoint, User: user, WorkingDir: "/", Labels: o.labels(i),
		Env: append([]string{"PATH=/usr/local/bin:/usr/bin:/usr/sbin", "HOME=/home/nonroot"}, i.env...),
	}
	img, err = mutate.ConfigFile(img, config)
	if err != nil {
		return nil, fmt.Errorf("write the configuration: %w", err)
	}
	return img, nil
}

func (o *options) labels(i image) map[string]string {
	const prefix = "org.opencontainers.image."
	labels := map[string]string{
		prefix + "title": i.name, prefix + "description": i.description, prefix + "version": o.version, prefix + "licenses": "Apache-2.0",
		prefix + "created": o.created.Format(time.RFC3339), prefix + "source": "https://github.com/nestor-dev/nestor", prefix + "vendor": "The Nestor Authors",
	}
	if o.revision != "" {
		labels[prefix+"revision"] = o.revision
	}
	return labels
}
