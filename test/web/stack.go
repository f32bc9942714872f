// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	historyv1beta1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/controller"
	"github.com/nestor-dev/nestor/internal/history"
	"github.com/nestor-dev/nestor/internal/history/live"
	"github.com/nestor-dev/nestor/internal/history/transcript"
	"github.com/nestor-dev/nestor/internal/ledger/connect"
	"github.com/nestor-dev/nestor/internal/ledger/sqlstore"
	"github.com/nestor-dev/nestor/internal/localcluster"
	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/internal/operator"
	"github.com/nestor-dev/nestor/test/oidcissuer"
)

const operatorNamespace = "nestor-system"

// stack is all running parts.
type stack struct {
	cluster    *localcluster.Cluster
	ledger     *breakableLedger
	model      *breakableModel
	users      map[string]*rest.Config
	live       *live.Hub
	history    func() error // stops the history API; nil while there is none
	servers    []*httptest.Server
	issuer     *oidcissuer.Issuer // nil if there is none
	stopIssuer func() error
	stop       func() error // the operator; nil while there is none
}

// newStack starts everything, and stops it again if something fails.
func newStack(ctx context.Context, withIssuer bool) (s *stack, err error) {
	s = &stack{live: &live.Hub{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	options := localcluster.Options{}
	if withIssuer {
		if err := s.startIssuer(ctx); err != nil {
			return s, err
		}
		options.AuthenticationConfig = s.issuer.AuthenticationConfig
	}
	if s.cluster, err = localcluster.Start(ctx, options); err != nil {
		return s, err
	}
	opened, err := connect.Open(ctx, "sqlite:"+filepath.Join(s.dir(), "ledger.db"), sqlstore.Search(transcript.Text))
	if err != nil {
		return s, err
	}
	s.ledger = &breakableLedger{Ledger: opened}
	if err := createProject(ctx, s.project()); err != nil {
		return s, err
	}
	model, err := s.serveModel()
	if err != nil {
		return s, err
	}
	if err := s.serveHistory(ctx); err != nil {
		return s, err
	}
	if err := s.createObjects(ctx, model, s.serve(newNotes())); err != nil {
		return s, err
	}
	return s, s.startOperator(ctx)
}

func (s *stack) close() error {
	errs := []error{s.stopOperator()}
	if s.history != nil {
		errs = append(errs, s.history())
	}
	for _, server := range s.servers {
		server.CloseClientConnections()
		server.Close()
	}
	if s.ledger != nil {
		errs = append(errs, s.ledger.Close())
	}
	if s.cluster != nil {
		errs = append(errs, s.cluster.Stop())
	}
	if s.stopIssuer != nil {
		errs = append(errs, s.stopIssuer())
	}
	return errors.Join(errs...)
}

// serve runs a server on loopback and returns its address.
func (s *stack) serve(handler http.Handler) string {
	server := httptest.NewServer(handler)
	s.servers = append(s.servers, server)
	return server.URL
}

// serveModel serves the page's own scripts, and then the demo's.
func (s *stack) serveModel() (string, error) {
	var scripts []*scripted.Script
	for _, text := range [][]byte{conversation, writing, script} {
		own, err := scripted.Parse("script.yaml", text)
		if err != nil {
			return "", err
		}
		scripts = append(scripts, own)
	}
	demo, err := scripted.Demo()
	if err != nil {
		return "", err
	}
	s.model = newBreakableModel(scripted.NewServer(scripted.Options{Scripts: append(scripts, demo...)}))
	return s.serve(s.model) + "/v1", nil
}

// serveHistory runs the history API, which stays while operators are restarted.
func (s *stack) serveHistory(ctx context.Context) error {
	const service = "history"
	workspaces, err := s.workspaces()
	if err != nil {
		return err
	}
	server, err := history.New(ctx, history.Options{
		Cluster: s.cluster.Config, Ledger: s.ledger, Live: s.live, Workspaces: workspaces, Address: "127.0.0.1:0", Hosts: []string{service + "." + operatorNamespace + ".svc"},
	})
	if err != nil {
		return err
	}
	running, cancel := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() { stopped <- server.Start(running) }()
	s.history = func() error {
		cancel()
		return <-stopped
	}
	return s.cluster.ServeAPI(ctx, localcluster.API{
		GroupVersion: historyv1beta1.GroupVersion, Namespace: operatorNamespace, Service: service, Port: server.Port(), CABundle: server.CABundle(),
	})
}

func (s *stack) startOperator(ctx context.Context) error {
	api := rest.CopyConfig(s.cluster.Config)
	api.QPS, api.Burst = 500, 1000
	assembled, err := operator.New(ctx, operator.Options{
		Config: api, Live: s.live,
		Controllers: controller.Options{
			AllowLoopbackEndpoints: true, OperatorNamespace: operatorNamespace, Ledger: s.ledger,
			LocalWorkspaces: []string{s.project()}, WorkspaceScratch: s.dir(),
		},
	})
	if err != nil {
		return err
	}
	running, cancel := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() { stopped <- assembled.Run(running) }()
	s.stop = func() error {
		cancel()
		return <-stopped
	}
	return nil
}

// dir returns the directory of the stack, which is removed when it ends.
func (s *stack) dir() string { return filepath.Dir(s.cluster.Kubeconfig) }

// project returns the directory of the project that agents change.
func (s *stack) project() string { return filepath.Join(s.dir(), "project") }

func (s *stack) stopOperator() error {
	if s.stop == nil {
		return nil
	}
	stop := s.stop
	s.stop = nil
	return stop()
}

// createObjects creates the namespaces, the users and their objects.
func (s *stack) createObjects(ctx context.Context, modelURL, notesURL string) error {
	api, err := client.New(s.cluster.Config, client.Options{Scheme: operator.NewScheme()})
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	objects := []client.Object{userRole()} // the history API created the operator's namespace
	for _, name := range []string{"alice", "bob", "empty"} {
		objects = append(objects, namespace(name), provider(name, modelURL), toolServer(name, notesURL), scribe(name), builder(name), orchestrator(name), nightly(name), onComments(name), quota(name))
		if name != "empty" {
			objects = append(objects, binding(name))
		}
	}
	objects = append(objects, heartbeatAccess()...)
	objects = append(objects, issuerBinding(), serviceAccount("alice", "robot"), projectChat("alice", s.project()))
	for _, object := range objects {
		if err := api.Create(ctx, object); err != nil {
			return fmt.Errorf("create %T %s: %w", object, object.GetName(), err)
		}
	}
	s.users = map[string]*rest.Config{"admin": s.cluster.Config}
	for _, name := range []string{"alice", "bob", "nobody"} {
		if s.users[name], err = s.cluster.AddUser(name); err != nil {
			return err
		}
	}
	return nil
}

func namespace(name string) client.Object {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}
