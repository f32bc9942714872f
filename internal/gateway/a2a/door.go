// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"net/http"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/nestor-dev/nestor/internal/gateway"
	"github.com/nestor-dev/nestor/internal/gateway/run"
)

// doorName is the value of the label nestor.dev/door.
const doorName = "a2a"

// keepAlive is the interval of comments on an idle stream.
const keepAlive = 15 * time.Second

// restPath is the path of the HTTP+JSON binding below an agent.
const restPath = "/v1"

type door struct{ push Registrar }

// New returns the door. Without a registrar it has no push notifications.
func New(push Registrar) gateway.Door { return door{push} }

func (door) Name() string { return doorName }

func (d door) Routes(mux *gateway.Mux) {
	const agent = "/a2a/{namespace}/{role}"
	mux.Handle("GET "+agent+a2asrv.WellKnownAgentCardPath, d.card)
	mux.Handle("POST "+agent, d.jsonRPC)
	mux.Handle(agent+restPath+"/", d.rest)
	if d.push != nil {
		mux.HandlePublic("GET "+keysPath, d.keys)
	}
}

// WriteError implements gateway.Door. It is for errors before the protocol: those of its methods are in the form of
// the binding.
func (door) WriteError(w http.ResponseWriter, err error) {
	problem := gateway.ProblemOf(err)
	problem.WriteHeaders(w)
	gateway.WriteJSON(w, problem.Code, map[string]any{"error": map[string]any{"code": problem.Code, "status": problem.Reason, "message": problem.Message}})
}

func (d door) jsonRPC(w http.ResponseWriter, r *http.Request, caller *run.Caller) error {
	if !refuseOldMethod(w, r) {
		a2asrv.NewJSONRPCHandler(d.agent(r, caller), a2asrv.WithTransportKeepAlive(keepAlive)).ServeHTTP(w, r)
	}
	return nil
}

func (d door) rest(w http.ResponseWriter, r *http.Request, caller *run.Caller) error {
	agent := d.agent(r, caller)
	http.StripPrefix(agent.path()+restPath, a2asrv.NewRESTHandler(agent, a2asrv.WithTransportKeepAlive(keepAlive))).ServeHTTP(w, r)
	return nil
}

// card serves the agent card of a role.
func (d door) card(w http.ResponseWriter, r *http.Request, caller *run.Caller) error {
	agent := d.agent(r, caller)
	card, err := agent.card(r.Context())
	if err != nil {
		return err
	}
	gateway.WriteJSON(w, http.StatusOK, newOldCard(card, agent.address+agent.path()))
	return nil
}

// addressOf returns the address that the caller uses for the gateway.
func addressOf(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// supported returns an error if a request is of a protocol version that is not served. Clients of 1.0 send the
// version.
func supported(params *a2asrv.ServiceParams) error {
	versions, ok := params.Get(a2a.SvcParamVersion)
	if ok && len(versions) > 0 && versions[0] != "" && versions[0] != "1" && !strings.HasPrefix(versions[0], "1.") {
		return a2a.ErrVersionNotSupported
	}
	return nil
}
