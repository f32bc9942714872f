// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	apiopenapi "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericfilters "k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/kubernetes"
	clientrest "k8s.io/client-go/rest"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/history/live"
	"github.com/nestor-dev/nestor/internal/history/openapi"
	"github.com/nestor-dev/nestor/internal/history/transcript"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/streams"
)

// Ledger is the part of a ledger that the server needs.
type Ledger interface {
	ledger.Histories
	ledger.Calls
	ledger.Reports
	ledger.Searches
	ledger.Workspaces
}

// shutdownTimeout limits how long requests may take to end at shutdown.
const shutdownTimeout = 5 * time.Second

// Options configure a server.
type Options struct {
	// Cluster is the configuration for the API server that authenticates and authorizes users.
	Cluster *clientrest.Config
	Ledger  Ledger
	// Workspaces reads running workspaces; nil without any.
	Workspaces Workspaces
	// Live has the deltas of this process's engine; nil without one.
	Live *live.Hub
	// Address is the address to listen on, such as :8443 or 127.0.0.1:0.
	Address string
	// Certificate is the serving certificate; nil uses files.
	Certificate Certificate
	// CertFile and KeyFile contain the certificate that the APIService's caBundle covers. They are reloaded when they
	// change. Without them and without a Certificate the server creates a self-signed one, see CABundle.
	CertFile, KeyFile string
	// Hosts are the names and addresses of a self-signed certificate, such as SERVICE.NAMESPACE.svc.
	Hosts []string
	// Streams counts and limits followed logs; nil means no limit.
	Streams *streams.Limiter
	// Review is the interval at which followers are authorized again; 0 means 15 seconds.
	Review time.Duration
	// Poll is the interval at which followers read the ledger for changes of other replicas; 0 means one second.
	Poll time.Duration
}

// Server serves the history.
type Server struct {
	generic     *genericapiserver.GenericAPIServer
	listener    net.Listener
	certificate dynamiccertificates.CertKeyContentProvider
	bundle      []byte
	stopping    chan struct{}
}

// New returns a server that listens but does not serve yet. It fails if the API server cannot be reached.
func New(ctx context.Context, options Options) (server *Server, err error) {
	if options.Live == nil {
		options.Live = &live.Hub{}
	}
	if options.Poll == 0 {
		options.Poll = time.Second
	}
	if options.Review == 0 {
		options.Review = 15 * time.Second
	}
	if options.Streams == nil {
		options.Streams = streams.NewLimiter(streams.Limits{})
	}
	s := &Server{stopping: make(chan struct{})}
	s.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", options.Address)
	if err != nil {
		return nil, fmt.Errorf("listen for the history API: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.listener.Close())
		}
	}()
	scheme, err := newScheme()
	if err != nil {
		return nil, fmt.Errorf("build the scheme: %w", err)
	}
	client, err := kubernetes.NewForConfig(options.Cluster)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	options.Ledger = namespaceScopedLedger{options.Ledger, client}
	config, err := s.config(ctx, scheme, client, options)
	if err != nil {
		return nil, err
	}
	s.generic, err = config.Complete(nil).New("nestor-history", genericapiserver.NewEmptyDelegate())
	if err != nil {
		return nil, fmt.Errorf("set up the history API: %w", err)
	}
	// Followers are disconnected; one that does not read must not block the operator.
	s.generic.ShutdownTimeout = shutdownTimeout
	if err := s.generic.InstallAPIGroup(s.group(scheme, options, config.Authorization.Authorizer)); err != nil {
		return nil, fmt.Errorf("install %s: %w", api.GroupVersion, err)
	}
	return s, nil
}

// Start serves until ctx ends.
func (s *Server) Start(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { close(s.stopping) })()
	if err := s.generic.PrepareRun().RunWithContext(ctx); err != nil {
		return fmt.Errorf("serve the history API: %w", err)
	}
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: every replica serves.
func (s *Server) NeedLeaderElection() bool { return false }

func (s *Server) Port() int32 {
	address, ok := s.listener.Addr().(*net.TCPAddr)
	if !ok {
		return 0
	}
	return int32(address.Port)
}

// Certificate returns the serving certificate.
func (s *Server) Certificate() dynamiccertificates.CertKeyContentProvider { return s.certificate }

// CABundle returns the CA bundle of the self-signed certificate; empty if a certificate was given.
func (s *Server) CABundle() []byte { return s.bundle }

// newScheme returns a scheme with the served kinds.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := api.AddToScheme(scheme); err != nil {
		return nil, err
	}
	// Errors are encoded in the core group.
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return scheme, nil
}

func (s *Server) config(ctx context.Context, scheme *runtime.Scheme, client kubernetes.Interface, options Options) (*genericapiserver.Config, error) {
	config := genericapiserver.NewConfig(serializer.NewCodecFactory(scheme))
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	config.ExternalAddress = s.listener.Addr().String()
	config.EnableProfiling, config.EnableMetrics = false, false
	config.LongRunningFunc = genericfilters.BasicLongRunningRequestCheck(sets.NewString("watch"), sets.NewString("log"))
	// Nothing in this server uses it.
	config.LoopbackClientConfig = &clientrest.Config{Host: config.ExternalAddress}
	namer := apiopenapi.NewDefinitionNamer(scheme)
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(openapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(openapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIConfig.Info.Title, config.OpenAPIV3Config.Info.Title = "Nestor history", "Nestor history"

	certificate, bundle, err := servingCertificate(options)
	if err != nil {
		return nil, err
	}
	s.certificate, s.bundle = certificate, bundle
	config.SecureServing = &genericapiserver.SecureServingInfo{Listener: s.listener, Cert: certificate, HTTP2MaxStreamsPerConnection: 1000}
	return config, delegateAuth(ctx, config, client)
}

func (s *Server) group(scheme *runtime.Scheme, options Options, may authorizer.Authorizer) *genericapiserver.APIGroupInfo {
	group := genericapiserver.NewDefaultAPIGroupInfo(api.GroupVersion.Group, scheme, runtime.NewParameterCodec(scheme), serializer.NewCodecFactory(scheme))
	text := storage{&api.Transcript{}}
	all := &transcripts{
		namespaced: namespaced{text, &api.TranscriptList{}, "transcript", transcriptColumns, transcriptCells},
		ledger:     options.Ledger, reader: transcript.NewReader(options.Ledger), authorizer: may,
	}
	changed := storage{&api.WorkspaceChanges{}}
	files := &workspaceChanges{
		namespaced: namespaced{changed, nil, "workspacechanges", workspaceChangesColumns, workspaceChangesCells},
		workspaces: options.Workspaces, ledger: options.Ledger, transcripts: all,
	}
	group.VersionedResourcesStorageMap[api.GroupVersion.Version] = map[string]rest.Storage{
		"transcripts": all,
		"transcripts/log": &logs{
			streamed: streamed{text, []string{logType}}, transcripts: all, live: options.Live, poll: options.Poll,
			stopping: s.stopping, streams: options.Streams, reviewer: reviewer{may, options.Review},
		},
		"transcripts/image": &images{streamed{text, servedImages}, all},
		"transcripts/trace": &traces{storage{&api.Trace{}}, all},
		"transcripts/calls": &calls{storage{&api.TranscriptCalls{}}, all},
		"modelcalls": &modelCalls{
			namespaced{storage{&api.ModelCall{}}, &api.ModelCallList{}, "modelcall", modelCallColumns, modelCallCells}, options.Ledger,
		},
		"usages": &usages{namespaced{storage{&api.Usage{}}, &api.UsageList{}, "usage", usageColumns, usageCells}, options.Ledger},

		"workspacechanges":         files,
		"workspacechanges/archive": &archives{streamed{changed, []string{patchType, tarType}}, files},
		"workspacechanges/file":    &workspaceFiles{storage{&api.WorkspaceFile{}}, files},
	}
	return &group
}
