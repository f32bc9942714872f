// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/config/operator"
	"github.com/nestor-dev/nestor/internal/localmode"
	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/test/a2atest"
	"github.com/nestor-dev/nestor/test/stack"
)

// suite is the environment that all pages share.
type suite struct {
	once   sync.Once
	err    error
	dir    string
	bin    string
	local  *localmode.Local
	model  *httptest.Server
	office *httptest.Server
	remote *httptest.Server
	hosts  *strings.Replacer
}

var theSuite suite

// openSuite starts the shared environment when the first page needs it.
func openSuite(t *testing.T) *suite {
	t.Helper()
	theSuite.once.Do(func() { theSuite.err = theSuite.open(context.Background()) })
	if theSuite.err != nil {
		t.Fatal(theSuite.err)
	}
	return &theSuite
}

func (s *suite) open(ctx context.Context) (err error) {
	if s.dir, err = os.MkdirTemp("", "nestor-docs-"); err != nil {
		return fmt.Errorf("create the suite's directory: %w", err)
	}
	if err := s.serve(); err != nil {
		return err
	}
	var parts errgroup.Group
	parts.Go(func() error { return s.build(ctx) })
	parts.Go(func() (err error) {
		if s.local, err = localmode.Start(ctx, localmode.Options{Dir: filepath.Join(s.dir, ".demo"), Out: io.Discard}); err != nil {
			return err
		}
		return s.grant(ctx)
	})
	return parts.Wait()
}

// grant creates the roles and policies of an installation. The demo's operator runs as administrator, so the policies
// exempt it; pages that show them act as other users.
func (s *suite) grant(ctx context.Context) error {
	objects, err := operator.Access()
	if err != nil {
		return err
	}
	const installed, here = `"system:serviceaccount:nestor-system:nestor-operator"`, `"admin"`
	for _, object := range objects {
		conditions, found, err := unstructured.NestedSlice(object.Object, "spec", "matchConditions")
		if err != nil {
			return fmt.Errorf("read the policy %s: %w", object.GetName(), err)
		}
		if found {
			condition := conditions[0].(map[string]any)
			condition["expression"] = strings.Replace(condition["expression"].(string), installed, installed+", "+here, 1)
			if err := unstructured.SetNestedSlice(object.Object, conditions, "spec", "matchConditions"); err != nil {
				return fmt.Errorf("change the policy %s: %w", object.GetName(), err)
			}
		}
		if err := s.local.Client.Create(ctx, object); client.IgnoreAlreadyExists(err) != nil { // the demo has the roles of people
			return fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// build builds the programs where the pages expect them. kubectl-nestor is this test binary.
func (s *suite) build(ctx context.Context) error {
	s.bin = filepath.Join(s.dir, "bin")
	if err := os.Mkdir(s.bin, 0o755); err != nil {
		return fmt.Errorf("create a directory for the programs: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the test binary: %w", err)
	}
	if err := os.Symlink(self, filepath.Join(s.bin, plugin)); err != nil {
		return fmt.Errorf("put %s on the PATH: %w", plugin, err)
	}
	if err := s.putHelm(ctx); err != nil {
		return err
	}
	return stack.Build(ctx, s.bin, "./cmd/nestor-workspace")
}

// putHelm installs the pinned Helm under its usual name.
func (s *suite) putHelm(ctx context.Context) error {
	find := exec.CommandContext(ctx, "go", "tool", "-modfile=hack/tools/go.mod", "-n", "helm")
	find.Dir = root
	path, err := find.Output()
	if err != nil {
		return fmt.Errorf("build helm: %w", err)
	}
	if err := os.Symlink(strings.TrimSpace(string(path)), filepath.Join(s.bin, "helm")); err != nil {
		return fmt.Errorf("put helm on the PATH: %w", err)
	}
	return nil
}

// serve runs the servers behind the endpoints of the pages: a model with the pages' own script before the built-in
// ones, an MCP server, and a remote agent.
func (s *suite) serve() error {
	data, err := os.ReadFile("testdata/model.yaml")
	if err != nil {
		return fmt.Errorf("read the script: %w", err)
	}
	own, err := scripted.Parse("testdata/model.yaml", data)
	if err != nil {
		return err
	}
	builtin, err := scripted.Demo()
	if err != nil {
		return err
	}
	s.model = httptest.NewServer(scripted.NewServer(scripted.Options{Scripts: append([]*scripted.Script{own}, builtin...), NoDelay: true}))
	s.office = serveOffice()
	_, agent := a2atest.New(a2atest.Options{})
	s.remote = httptest.NewServer(agent)
	s.hosts = strings.NewReplacer(
		"https://api.openai.com/v1", s.model.URL+"/v1",
		"https://my-resource.openai.azure.com/openai/v1", s.model.URL+"/v1",
		"https://api.anthropic.com", s.model.URL,
		"https://generativelanguage.googleapis.com", s.model.URL,
		"http://vllm.models.svc:8000/v1", s.model.URL+"/v1",
		"http://busy.models.svc:8000/v1", "http://127.0.0.1:9/v1", // where nothing listens
		"http://ollama.models.svc:11434/v1", s.model.URL+"/v1",
		"https://mcp.example.com/mcp", s.office.URL,
		"https://agents.example.com/weather", s.remote.URL,
	)
	return nil
}

func (s *suite) close() error {
	var errs []error
	if s.local != nil {
		errs = append(errs, s.local.Stop())
	}
	for _, server := range []*httptest.Server{s.model, s.office, s.remote} {
		if server != nil {
			server.CloseClientConnections()
			server.Close()
		}
	}
	if s.dir != "" {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}
