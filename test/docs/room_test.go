// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/docs/page"
)

type environment struct {
	namespace string
	// dir is the working directory of its commands, and scratch a directory that the page should not see.
	dir, scratch string
	env          []string
}

var notInNamespace = regexp.MustCompile(`[^a-z0-9]+`)

// newEnvironment creates a namespace, with a model unless the page creates one, and a directory that looks like a checkout.
func (s *suite) newEnvironment(t *testing.T, p *page.Page) environment {
	t.Helper()
	r := environment{namespace: "docs-" + notInNamespace.ReplaceAllString(strings.ToLower(title(p)), "-"), dir: t.TempDir(), scratch: t.TempDir()}
	objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}}}
	if !bringsModel(p) {
		provider := &v1beta1.ModelProvider{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "default"}}
		provider.Spec.BaseURL, provider.Spec.DefaultModel = s.model.URL+"/v1", "scripted"
		objects = append(objects, provider)
	}
	for _, object := range objects {
		if err := s.local.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	s.prepareDirectory(t, &r, s.kubeconfig(t, r))
	return r
}

// prepareDirectory makes a room look like a checkout after `make build` and `make demo`, and configures kubectl.
func (s *suite) prepareDirectory(t *testing.T, r *environment, kubeconfig string) {
	t.Helper()
	s.copyParts(t, r.dir)
	r.env = append(os.Environ(),
		"KUBECONFIG="+kubeconfig, "HOME="+r.scratch, "TERM=dumb", "NO_COLOR=1", "NESTOR_GATEWAY="+s.local.GatewayURL(),
		"PATH="+strings.Join([]string{s.bin, filepath.Dir(s.local.Kubectl), os.Getenv("PATH")}, string(filepath.ListSeparator)),
		// The page's home directory is not the one with Go's caches.
		"GOCACHE="+goEnv(t, "GOCACHE"), "GOMODCACHE="+goEnv(t, "GOMODCACHE"), "GOFLAGS="+goEnv(t, "GOFLAGS"),
	)
}

var defaultModel = regexp.MustCompile(`(?m)^kind: ModelProvider\nmetadata:\n  name: default$`)

func bringsModel(p *page.Page) bool {
	return slices.ContainsFunc(p.Blocks, func(block page.Block) bool { return block.File() != "" && defaultModel.MatchString(block.Text) })
}

func (s *suite) kubeconfig(t *testing.T, r environment) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(s.local.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.Contexts[config.CurrentContext].Namespace = r.namespace
	path := filepath.Join(r.scratch, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// copied are the parts of the repository that pages use. They are copied, so that changes stay in the room.
var copied = []string{"config", "charts", "hack/krew"}

func (s *suite) copyParts(t *testing.T, dir string) {
	t.Helper()
	for _, part := range copied {
		from := filepath.Join(root, filepath.FromSlash(part))
		if _, err := os.Stat(from); errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := os.CopyFS(filepath.Join(dir, filepath.FromSlash(part)), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"bin": s.bin, ".demo": s.local.Dir} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}
