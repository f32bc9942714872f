// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"io"
	"log"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// epoch is the time of all files in these tests.
const epoch = "1700000000"

// build builds images into a new directory.
func build(t *testing.T, args ...string) string {
	t.Helper()
	out := t.TempDir()
	args = append([]string{"--out", out, "--source-date-epoch", epoch, "--version", "v1.2.3", "--revision", "abc123"}, args...)
	if err := run(t.Context(), args, t.Output()); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestImagesAreReproducible(t *testing.T) {
	args := []string{"--platforms", "linux/amd64,linux/arm64", "nestor-scripted-model"}
	first, second := build(t, args...), build(t, args...)
	for _, file := range []string{"nestor-scripted-model.tar", "nestor-scripted-model.spdx.json", sumsFile} {
		a, err := os.ReadFile(filepath.Join(first, file))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(second, file))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Errorf("%s differs between two builds", file)
		}
	}
}

func TestImageConfiguration(t *testing.T) {
	out := build(t, "--platforms", "linux/arm64", "nestor-scripted-model")
	image, annotations := load(t, filepath.Join(out, "nestor-scripted-model.tar"))
	if got := annotations["io.containerd.image.name"]; got != "localhost/nestor-scripted-model:v1.2.3" {
		t.Errorf("its name is %q", got)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Architecture != "arm64" || config.Config.User != user || !slices.Equal(config.Config.Entrypoint, []string{"/usr/local/bin/nestor-scripted-model"}) {
		t.Errorf("its configuration is %+v", config)
	}
	if !config.Created.Equal(time.Unix(1700000000, 0)) {
		t.Errorf("it was created at %s", config.Created)
	}
	for label, want := range map[string]string{"version": "v1.2.3", "revision": "abc123", "licenses": "Apache-2.0", "title": "nestor-scripted-model"} {
		if got := config.Config.Labels["org.opencontainers.image."+label]; got != want {
			t.Errorf("label %s is %q, want %q", label, got, want)
		}
	}
	files := contents(t, image)
	program, err := buildinfo.Read(bytes.NewReader(files["usr/local/bin/nestor-scripted-model"]))
	if err != nil {
		t.Fatal(err)
	}
	if program.Main.Path != "github.com/nestor-dev/nestor" {
		t.Errorf("the program is of %s", program.Main.Path)
	}
	if n := strings.Count(string(files[certificatesPath]), "BEGIN CERTIFICATE"); n < 100 {
		t.Errorf("it trusts %d authorities", n)
	}
}

func TestBillOfMaterialsListsModules(t *testing.T) {
	out := build(t, "nestor-scripted-model")
	text, err := os.ReadFile(filepath.Join(out, "nestor-scripted-model.spdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var b spdxDocument
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	names, ids := map[string]bool{}, map[string]bool{}
	for _, p := range b.Packages {
		if ids[p.ID] {
			t.Errorf("two packages are called %s", p.ID)
		}
		names[p.Name], ids[p.ID] = true, true
	}
	for _, want := range []string{"nestor-scripted-model", "stdlib", "github.com/nestor-dev/nestor", "go.yaml.in/yaml/v3"} {
		if !names[want] {
			t.Errorf("%s is missing among %v", want, slices.Sorted(maps.Keys(names)))
		}
	}
	for _, r := range b.Relationships {
		if (r.Element != b.ID && !ids[r.Element]) || !ids[r.Related] {
			t.Errorf("%s %s %s names what is not there", r.Element, r.Type, r.Related)
		}
	}
}

// TestFIPS reads what the program of a FIPS image reports about itself.
func TestFIPS(t *testing.T) {
	out := build(t, "--platforms", "linux/"+runtime.GOARCH, "--fips", "v1.0.0", "nestor-scripted-model")
	_, annotations := load(t, filepath.Join(out, "nestor-scripted-model-fips.tar"))
	if got := annotations["io.containerd.image.name"]; got != "localhost/nestor-scripted-model:v1.2.3-fips" {
		t.Errorf("its name is %q", got)
	}
	program := filepath.Join(out, ".programs", runtime.GOARCH+"-fips", "nestor-scripted-model")
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	if !strings.HasPrefix(settings["GOFIPS140"], "v1.0.0") || !strings.Contains(settings["DefaultGODEBUG"], "fips140=on") {
		t.Errorf("the program was built with %v", settings)
	}
	if output, err := exec.CommandContext(t.Context(), program, "--list").CombinedOutput(); err != nil {
		t.Errorf("it does not start: %v: %s", err, output)
	}
}

func TestPushing(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	repository := strings.TrimPrefix(server.URL, "http://") + "/team"
	build(t, "--platforms", "linux/amd64,linux/arm64", "--push", repository, "--insecure", "nestor-scripted-model")
	reference, err := name.ParseReference(repository+"/nestor-scripted-model:v1.2.3", name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(reference, remote.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 2 || manifest.Manifests[1].Platform.Architecture != "arm64" {
		t.Errorf("the registry has %+v", manifest.Manifests)
	}
}

// The script of a release pushes charts; it is tested here, where there is a registry.
func TestPushOfCharts(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	repository := strings.TrimPrefix(server.URL, "http://") + "/team"
	dir := t.TempDir()
	if output, err := helm(t, "package", "charts/nestor", "charts/nestor-crds", "--version", "1.2.3", "--destination", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	push := exec.CommandContext(t.Context(), filepath.Join("..", "release", "push-charts.sh"), dir, repository, "--plain-http")
	if output, err := push.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	for _, chart := range []string{"nestor", "nestor-crds"} {
		pull := helm(t, "pull", "oci://"+repository+"/charts/"+chart, "--version", "1.2.3", "--plain-http", "--destination", t.TempDir())
		if output, err := pull.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, output)
		}
	}
	if output, err := exec.CommandContext(t.Context(), filepath.Join("..", "release", "push-charts.sh"), t.TempDir(), repository).CombinedOutput(); err == nil || !strings.Contains(string(output), "there are no charts") {
		t.Errorf("an empty directory: %v: %s", err, output)
	}
}

// helm returns a command of the pinned Helm in the root of the repository.
func helm(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"tool", "-modfile=hack/tools/go.mod", "helm"}, args...)...)
	cmd.Dir = filepath.Join("..", "..")
	return cmd
}

func TestErrorsAreExplained(t *testing.T) {
	for want, args := range map[string][]string{
		`there is no image "nestor"; there are nestor-operator, nestor-gateway, nestor-scripted-model, nestor-workspace`: {"nestor"},
		"--platforms must be a list such as linux/amd64,linux/arm64":                                                     {"--platforms", "windows/amd64"},
		"--source-date-epoch must be a number of seconds":                                                                {"--source-date-epoch", "today"},
		"run make node first": {"--node-binaries", "no-such-directory", "pause"},
	} {
		err := run(t.Context(), append([]string{"--out", t.TempDir()}, args...), io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}

func load(t *testing.T, archive string) (v1.Image, map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for file, content := range unpackTar(t, archive) {
		path := filepath.Join(dir, filepath.FromSlash(file))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return image, manifest.Manifests[0].Annotations
}

func unpackTar(t *testing.T, archive string) map[string][]byte {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return readTar(t, f)
}

func contents(t *testing.T, image v1.Image) map[string][]byte {
	t.Helper()
	r := mutate.Extract(image)
	defer r.Close()
	return readTar(t, r)
}

func readTar(t *testing.T, from io.Reader) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	r := tar.NewReader(from)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}
