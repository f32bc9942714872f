// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
)

// maxBody bounds the body of a write: the longest message with the largest attachments in base64, and room for escapes.
const maxBody = 1280 << 10

// routeKubernetes serves the allowed part of the Kubernetes API under /k8s.
func (s *site) routeKubernetes(mux *http.ServeMux) {
	nestor := "/k8s" + nestorPrefix + "/namespaces/{namespace}/{resource}"
	mux.Handle(nestor, s.signedIn(s.serveNestor))
	mux.Handle(nestor+"/{name}", s.signedIn(s.serveNestor))
	mux.Handle("POST /k8s"+nestorPrefix+"/namespaces/{namespace}/"+triggers+"/{name}/fire", s.signedIn(s.fire))
	mux.Handle("POST /k8s"+nestorPrefix+"/namespaces/{namespace}/"+chats+"/{name}/title", s.signedIn(s.title))
	history := "GET /k8s" + historyPrefix + "/namespaces/{namespace}/{resource}"
	mux.Handle(history, s.signedIn(s.serveHistory))
	mux.Handle(history+"/{name}", s.signedIn(s.serveHistory))
	mux.Handle("GET /k8s"+historyPrefix+"/namespaces/{namespace}/"+transcripts+"/{name}"+trace, s.signedIn(s.serveTrace))
	mux.Handle("GET /k8s"+historyPrefix+"/namespaces/{namespace}/"+workspaceChanges+"/{name}"+archive, s.signedIn(s.serveArchive))
	mux.Handle("GET /k8s"+historyPrefix+"/namespaces/{namespace}/"+workspaceChanges+"/{name}"+file, s.signedIn(s.serveFile))
	mux.Handle("GET /k8s/api/v1/namespaces", s.signedIn(func(w http.ResponseWriter, r *http.Request, config *rest.Config) {
		forward(w, r, config, "/api/v1/namespaces", listParameters)
	}))
}

// serveNestor forwards reads of Nestor's kinds, and the few writes that the page makes.
func (s *site) serveNestor(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	resource, name := r.PathValue("resource"), r.PathValue("name")
	if !allowedResources[resource].allows(r.Method, name != "") {
		writeError(w, statusError(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "The page's API does not offer this."))
		return
	}
	parameters := listParameters
	if writes(r) {
		parameters = writeParameters
	}
	s.forwardChecked(w, r, config, nestorPrefix, parameters)
}

func (s *site) serveHistory(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	s.forwardChecked(w, r, config, historyPrefix, historyParameters)
}

const (
	transcripts      = "transcripts"
	trace            = "/trace"
	workspaceChanges = "workspacechanges"
	archive          = "/archive"
	file             = "/file"
)

// serveArchive forwards the changes of a workspace as a file, which browsers save.
func (s *site) serveArchive(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	w.Header().Set("Content-Disposition", "attachment")
	forwardSubresource(w, r, config, workspaceChanges, archive, nil)
}

// serveFile forwards one file of a workspace.
func (s *site) serveFile(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	forwardSubresource(w, r, config, workspaceChanges, file, fileParameters)
}

// serveTrace forwards the trace of an agent.
func (s *site) serveTrace(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	forwardSubresource(w, r, config, transcripts, trace, historyParameters)
}

func forwardSubresource(w http.ResponseWriter, r *http.Request, config *rest.Config, resource, subresource string, parameters []string) {
	r.SetPathValue("resource", resource)
	path, err := checkedPath(r, historyPrefix)
	if err != nil {
		writeError(w, err)
		return
	}
	forward(w, r, config, path+subresource, parameters)
}

// checkedPath builds the upstream path from validated parts, so that the request cannot escape it.
func checkedPath(r *http.Request, prefix string) (string, error) {
	path := prefix + "/namespaces"
	for _, part := range []string{"namespace", "resource", "name"} {
		value := r.PathValue(part)
		if value == "" {
			continue
		}
		if len(validation.IsDNS1123Subdomain(value)) > 0 {
			return "", apierrors.NewBadRequest(fmt.Sprintf("%q is not a name.", value))
		}
		path += "/" + value
		if part == "namespace" {
			if err := checkNamespace(value); err != nil {
				return "", err
			}
		}
	}
	return path, nil
}

// forwardChecked forwards a request to the upstream path of the same resource.
func (s *site) forwardChecked(w http.ResponseWriter, r *http.Request, config *rest.Config, prefix string, parameters []string) {
	path, err := checkedPath(r, prefix)
	if err != nil {
		writeError(w, err)
		return
	}
	if writes(r) && !isJSON(r) {
		writeError(w, errNotJSON())
		return
	}
	forward(w, r, config, path, parameters)
}

// writes reports whether a request has an object in its body.
func writes(r *http.Request) bool { return r.Method == http.MethodPost || r.Method == http.MethodPut }

// forward sends a request to the API server with the person's identity and without any of its headers: no cookie, no
// impersonation.
func forward(w http.ResponseWriter, r *http.Request, config *rest.Config, path string, parameters []string) {
	transport, err := rest.TransportFor(config)
	if err != nil {
		writeError(w, fmt.Errorf("reach the API server: %w", err))
		return
	}
	target, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		writeError(w, fmt.Errorf("find the API server: %w", err))
		return
	}
	query := url.Values(filterParameters(r.URL.Query(), parameters)).Encode()
	proxy := httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL = &url.URL{Scheme: target.Scheme, Host: target.Host, Path: strings.TrimSuffix(target.Path, "/") + path, RawQuery: query}
			p.Out.Host = target.Host
			accept := "application/json"
			if strings.HasSuffix(path, archive) {
				accept = "*/*" // a patch or a tar; errors are JSON
			}
			p.Out.Header = http.Header{"Accept": {accept}, "User-Agent": {config.UserAgent}}
			if writes(r) {
				p.Out.Header.Set("Content-Type", "application/json")
			}
		},
		ModifyResponse: func(response *http.Response) error {
			response.Header = http.Header{"Content-Type": response.Header["Content-Type"]}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { writeError(w, err) },
	}
	proxy.ServeHTTP(w, r)
}
