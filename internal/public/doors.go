// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package public

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"github.com/nestor-dev/nestor/internal/gateway"
	"github.com/nestor-dev/nestor/internal/gateway/a2a"
	"github.com/nestor-dev/nestor/internal/gateway/agui"
	"github.com/nestor-dev/nestor/internal/gateway/hooks"
	"github.com/nestor-dev/nestor/internal/gateway/mcp"
	"github.com/nestor-dev/nestor/internal/gateway/openai"
	"github.com/nestor-dev/nestor/internal/gateway/run"
	"github.com/nestor-dev/nestor/internal/streams"
)

// Operator does what the token of a caller does not permit.
type Operator interface {
	hooks.Deliveries
	a2a.Registrar
}

type Doors struct {
	// Cluster is the address of the API server; its credentials are not used.
	Cluster           *rest.Config
	OperatorNamespace string
	Operator          Operator
	// PageURL is where people reach the web page, or empty if that is not known.
	PageURL string
	// Requests limits the requests in flight; nil means no limit.
	Requests *streams.Limiter
	// OnRequest is called after each request, for metrics; it may be nil.
	OnRequest func(door string, code int, took time.Duration)
	Log       logr.Logger
}

func (d Doors) Handler() http.Handler {
	return gateway.New(gateway.Options{
		Callers: run.NewConnector(d.Cluster, d.OperatorNamespace), Streams: d.Requests, OnRequest: d.OnRequest,
		Doors: []gateway.Door{
			openai.New(), mcp.New(slog.New(logr.ToSlogHandler(d.Log.WithName("mcp"))), d.PageURL), agui.New(), a2a.New(d.Operator), hooks.New(d.Operator),
		},
	})
}
