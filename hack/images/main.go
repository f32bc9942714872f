// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Command images builds Nestor's container images without a container engine: Go programs in an empty image, and the
// workspace on a minimal Debian assembled from packages. Builds are reproducible. Each image gets an SPDX bill of
// materials.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

type options struct {
	root       string
	out        string
	repository string
	version    string
	// fips is the version of Go's FIPS 140-3 module that the programs are built with, or empty. Such images are tagged and named -fips.
	fips      string
	revision  string
	created   time.Time
	platforms []v1.Platform
	node      string
	push      string
	insecure  bool
	fast      bool
	mirror    string
	suite     string
	cache     string
	log       io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, log io.Writer) error {
	o := &options{log: log}
	names, err := o.parse(args)
	if err != nil {
		return err
	}
	chosen, err := choose(names)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return fmt.Errorf("create the output directory: %w", err)
	}
	for _, image := range chosen {
		if err := o.make(ctx, image); err != nil {
			return fmt.Errorf("image %s: %w", image.name, err)
		}
	}
	return writeSums(o.out)
}

// parse parses the flags and returns the names of the requested images.
func (o *options) parse(args []string) ([]string, error) {
	var platforms, epoch string
	set := flag.NewFlagSet("images", flag.ContinueOnError)
	set.StringVar(&o.root, "root", "../..", "`directory` of Nestor's module")
	set.StringVar(&o.out, "out", "../../dist/images", "`directory` for the archives and their metadata")
	set.StringVar(&o.repository, "repository", "localhost", "`prefix` of the images' names")
	set.StringVar(&o.version, "version", "dev", "version that is stamped into the programs, and the images' tag")
	set.StringVar(&o.fips, "fips", "", "build the programs with this `version` of Go's FIPS 140-3 module, such as v1.0.0; the images' tag and files end with -fips")
	set.StringVar(&o.revision, "revision", "", "the built commit, for the labels")
	set.StringVar(&epoch, "source-date-epoch", "0", "time of all files, in `seconds` since 1970")
	set.StringVar(&platforms, "platforms", defaultPlatform(), "comma-separated `list` of platforms; several make one image for all of them")
	set.StringVar(&o.node, "node-binaries", "../../bin/node", "`directory` filled by make node, for the images of a test cluster")
	set.StringVar(&o.push, "push", "", "push the images to this `repository` too, with the credentials of docker login")
	set.BoolVar(&o.insecure, "insecure", false, "push over HTTP, for a test registry")
	set.BoolVar(&o.fast, "fast", false, "compress less, for images that are only used locally")
	set.StringVar(&o.mirror, "debian-mirror", "http://deb.debian.org/debian", "`URL` of a Debian archive; a dated snapshot makes Debian's part of an image permanently reproducible")
	set.StringVar(&o.suite, "debian-suite", "trixie", "Debian release")
	set.StringVar(&o.cache, "cache", defaultCache(), "`directory` that keeps downloaded packages")
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("--source-date-epoch must be a number of seconds, not %q", epoch)
	}
	o.created = time.Unix(seconds, 0).UTC()
	for text := range strings.SplitSeq(platforms, ",") {
		p, err := v1.ParsePlatform(text)
		if err != nil || p.OS != "linux" || p.Architecture == "" {
			return nil, fmt.Errorf("--platforms must be a list such as linux/amd64,linux/arm64, not %q", text)
		}
		o.platforms = append(o.platforms, *p)
	}
	for _, dir := range []*string{&o.root, &o.out, &o.node, &o.cache} {
		if *dir, err = filepath.Abs(*dir); err != nil {
			return nil, fmt.Errorf("find %s: %w", *dir, err)
		}
	}
	return set.Args(), nil
}

func defaultCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "nestor", "images")
}

// choose returns images by name; no names means those of a release.
func choose(names []string) ([]image, error) {
	if len(names) == 0 {
		return slices.DeleteFunc(slices.Clone(images), func(i image) bool { return i.testOnly }), nil
	}
	var chosen []image
	for _, name := range names {
		at := slices.IndexFunc(images, func(i image) bool { return i.name == name })
		if at < 0 {
			known := make([]string, 0, len(images))
			for _, i := range images {
				known = append(known, i.name)
			}
			return nil, fmt.Errorf("there is no image %q; there are %s", name, strings.Join(known, ", "))
		}
		chosen = append(chosen, images[at])
	}
	return chosen, nil
}
