// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// maxListsAge is the maximum age of the package lists.
const maxListsAge = 12 * time.Hour

// apt runs apt-get with separate directories: other sources, another architecture, and no installed packages.
type apt struct {
	dir, architecture string
	log               io.Writer
}

// newApt prepares apt's directories. They are kept, so that a second build downloads nothing.
func (o *options) newApt(architecture string) (*apt, error) {
	if err := checkApt(); err != nil {
		return nil, err
	}
	key := fmt.Sprintf("%x", sha256.Sum256([]byte(o.mirror+" "+o.suite)))[:8]
	a := &apt{dir: filepath.Join(o.cache, "debian", o.suite+"-"+key+"-"+architecture), architecture: architecture, log: o.log}
	for _, dir := range []string{"etc/apt/apt.conf.d", "etc/apt/preferences.d", "etc/apt/sources.list.d", "state/lists/partial", "cache/archives/partial", "none/partial", "dpkg"} {
		if err := os.MkdirAll(filepath.Join(a.dir, dir), 0o755); err != nil {
			return nil, fmt.Errorf("create apt's directories: %w", err)
		}
	}
	sources := fmt.Sprintf("Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n", o.mirror, o.suite, keyring)
	if err := os.WriteFile(filepath.Join(a.dir, "etc/apt/sources.list.d/debian.sources"), []byte(sources), 0o644); err != nil {
		return nil, fmt.Errorf("write apt's sources: %w", err)
	}
	return a, os.WriteFile(filepath.Join(a.dir, "dpkg/status"), nil, 0o644)
}

// download fetches packages and their dependencies, verified by apt, and returns the files, sorted.
func (a *apt) download(ctx context.Context, wanted []string) ([]string, error) {
	if err := a.refresh(ctx); err != nil {
		return nil, err
	}
	args := append([]string{"install", "--download-only", "--no-install-recommends", "--yes", "--quiet=2"}, wanted...)
	if _, err := a.get(ctx, args...); err != nil {
		return nil, err
	}
	// Earlier builds may have left other versions: use only the files for exactly this list of packages.
	out, err := a.get(ctx, append(args, "--print-uris", "--reinstall", "-o", "Dir::Cache::Archives="+filepath.Join(a.dir, "none")+"/")...)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, match := range printedFile.FindAllStringSubmatch(out, -1) {
		files = append(files, filepath.Join(a.dir, "cache/archives", match[1]))
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("apt-get names no files for %s: %s", strings.Join(wanted, ", "), out)
	}
	slices.Sort(files)
	return files, nil
}

// printedFile matches a line of --print-uris: 'URL' FILE SIZE HASH.
var printedFile = regexp.MustCompile(`(?m)^'[^']+' (\S+\.deb) \d+`)

// refresh updates the package lists if they are old.
func (a *apt) refresh(ctx context.Context) error {
	mark := filepath.Join(a.dir, "refreshed")
	if info, err := os.Stat(mark); err == nil && time.Since(info.ModTime()) < maxListsAge {
		return nil
	}
	if _, err := a.get(ctx, "update", "--quiet=2", "--error-on=any"); err != nil {
		return err
	}
	return os.WriteFile(mark, nil, 0o644)
}

func (a *apt) get(ctx context.Context, args ...string) (string, error) {
	settings := map[string]string{
		"APT::Architecture": a.architecture, "APT::Architectures": a.architecture, "APT::Sandbox::User": "", "Acquire::Languages": "none", "Debug::NoLocking": "true",
		"Acquire::Retries": "3", "Dir::Etc": filepath.Join(a.dir, "etc/apt"), "Dir::State": filepath.Join(a.dir, "state"), "Dir::Cache": filepath.Join(a.dir, "cache"),
		"Dir::State::status": filepath.Join(a.dir, "dpkg/status"),
	}
	var flags []string
	for name, value := range settings {
		flags = append(flags, "-o", name+"="+value)
	}
	var out, output bytes.Buffer
	cmd := exec.CommandContext(ctx, "apt-get", append(flags, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &output
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", "APT_CONFIG=")
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("apt-get %s: %w\n%s", args[0], err, output.String())
	}
	return out.String(), nil
}
