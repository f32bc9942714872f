// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
)

// modelCalls is the resource modelcalls.
type modelCalls struct {
	namespaced
	ledger Ledger
}

// Get returns a call with its request and response.
func (m *modelCalls) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	key, ok := modelCallKey(name)
	if !ok {
		return nil, notFound("modelcalls", name, "a model call is named after its agent's UID, the call and the attempt, as in UID.m1.1; list model calls to see their names")
	}
	call, err := m.ledger.ModelCall(ctx, key)
	if errors.Is(err, ledger.ErrNotFound) || (err == nil && call.Namespace != genericapirequest.NamespaceValue(ctx)) {
		return nil, notFound("modelcalls", name, "")
	}
	if err != nil {
		return nil, statusError(err)
	}
	object := modelCallOf(call)
	object.Spec.Request = raw(call.Request)
	if call.Result != nil {
		object.Status.Response = raw(call.Result.Response)
	}
	return &object, nil
}

// List lists calls without their bodies.
func (m *modelCalls) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	a, err := parseListOptions(genericapirequest.NamespaceValue(ctx), options)
	if err != nil {
		return nil, err
	}
	if name, ok := a.fields[api.FieldName]; ok {
		return m.listByName(ctx, a, name)
	}
	a.scope.Model = a.fields[api.FieldModelCallModel]
	var parent string
	if name, ok := a.fields[api.FieldModelCallParent]; ok {
		if parent, ok = modelCallKey(name); !ok {
			return &api.ModelCallList{}, nil
		}
	}
	filter := ledger.CallFilter{Scope: a.scope, Agent: a.fields[api.FieldModelCallAgent], Parent: parent, Status: statusOf(a.fields[api.FieldModelCallPhase])}
	calls, next, err := readPages(a, func(page ledger.Page) (ledger.List[ledger.ModelCall], error) {
		return m.ledger.ModelCalls(ctx, filter, page)
	})
	if err != nil {
		return nil, err
	}
	list := &api.ModelCallList{ListMeta: metav1.ListMeta{Continue: next}, Items: make([]api.ModelCall, len(calls))}
	for i, call := range calls {
		list.Items[i] = modelCallOf(call)
	}
	return list, nil
}

func (m *modelCalls) listByName(ctx context.Context, a listQuery, name string) (runtime.Object, error) {
	key, ok := modelCallKey(name)
	if !ok || a.contradictory {
		return &api.ModelCallList{}, nil
	}
	call, err := m.ledger.ModelCall(ctx, key)
	if errors.Is(err, ledger.ErrNotFound) || (err == nil && a.scope.Namespace != "" && call.Namespace != a.scope.Namespace) {
		return &api.ModelCallList{}, nil
	}
	if err != nil {
		return nil, statusError(err)
	}
	return &api.ModelCallList{Items: []api.ModelCall{modelCallOf(call)}}, nil
}

// The ledger's key of a model call is UID/model/CALL/ATTEMPT, its name UID.CALL.ATTEMPT.

func modelCallName(key string) (string, bool) {
	parts := strings.Split(key, "/")
	if len(parts) != 4 || parts[1] != "model" {
		return "", false
	}
	return strings.Join([]string{parts[0], parts[2], parts[3]}, "."), true
}

func modelCallKey(name string) (string, bool) {
	parts := strings.Split(name, ".")
	if len(parts) != 3 {
		return "", false
	}
	return strings.Join([]string{parts[0], "model", parts[1], parts[2]}, "/"), true
}

func modelCallOf(c ledger.ModelCall) api.ModelCall {
	name, ok := modelCallName(c.Key)
	if !ok {
		name = strings.ReplaceAll(c.Key, "/", ".")
	}
	parent, _ := modelCallName(c.Parent)
	attempt, _ := strconv.ParseInt(name[strings.LastIndex(name, ".")+1:], 10, 32) // 0 if the key has none
	call := api.ModelCall{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: c.Namespace, UID: types.UID(name), CreationTimestamp: metav1.NewTime(c.StartedAt), Labels: labels(c.Chat, c.Role),
		},
		Spec: api.ModelCallSpec{
			Agent: types.UID(c.Agent), Seq: c.Seq, Parent: parent, Chat: c.Chat, Role: c.Role, Depth: int32(c.Depth), ModelProvider: c.Provider, Model: c.Model,
			Purpose: c.RequestType, Attempt: int32(attempt), Iteration: int32(c.Iteration), MaxIterations: int32(c.MaxIterations), ContextTokens: c.ContextTokens,
			ContextMode: c.ContextMode, Files: c.Files,
		},
		Status: api.ModelCallStatus{Phase: api.PhaseLive, StartTime: metav1.NewMicroTime(c.StartedAt)},
	}
	r := c.Result
	if r == nil {
		return call
	}
	ended, took := metav1.NewMicroTime(r.FinishedAt), r.FinishedAt.Sub(c.StartedAt).Milliseconds()
	call.Status.Phase, call.Status.CompletionTime, call.Status.DurationMillis = phaseOf(r.Status), &ended, &took
	call.Status.Summary, call.Status.Error, call.Status.ToolCalls = r.Summary, r.Error, toolNames(r.ToolCalls)
	call.Status.Limit, call.Status.Sent = r.Bailout, sentOf(r.Sent)
	if r.PromptTokens != nil || r.CompletionTokens != nil || r.CostMicros != nil {
		call.Status.Usage = &api.TokenUsage{
			PromptTokens: r.PromptTokens, CachedTokens: r.CachedTokens, CompletionTokens: r.CompletionTokens, CostMicros: r.CostMicros, Currency: r.Currency,
		}
		if r.ReasoningTokens != nil && *r.ReasoningTokens > 0 {
			call.Status.Usage.ReasoningTokens = r.ReasoningTokens
		}
	}
	return call
}

// sentOf returns what was sent. The ledger ensures that it is JSON; an unknown form is treated as empty.
func sentOf(data json.RawMessage) *api.SentRequest {
	var sent model.Sent
	if len(data) == 0 || json.Unmarshal(data, &sent) != nil {
		return nil
	}
	return &api.SentRequest{BodyDigest: sent.BodyDigest, Model: sent.Model, Temperature: sent.Temperature, MaxOutputTokens: sent.MaxOutputTokens,
		ReasoningEffort: string(sent.ReasoningEffort), TextOnly: sent.TextOnly}
}

// toolNames returns the tools that a reply called. The ledger ensures that the list is JSON; an unknown form is
// treated as empty.
func toolNames(data json.RawMessage) []string {
	var calls []model.ToolCall
	if len(data) == 0 || json.Unmarshal(data, &calls) != nil {
		return nil
	}
	names := make([]string, len(calls))
	for i, c := range calls {
		names[i] = c.Name
	}
	return names
}

func statusOf(phase string) ledger.Status {
	if phase == string(api.PhaseLive) {
		return ledger.StatusRunning
	}
	return ledger.Status(phase)
}

func raw(data json.RawMessage) *runtime.RawExtension {
	if len(data) == 0 {
		return nil
	}
	if !json.Valid(data) { // a damaged row must not make the whole response unreadable
		data, _ = json.Marshal(map[string]string{"unreadable": strings.ToValidUTF8(string(data), "\uFFFD")})
	}
	return &runtime.RawExtension{Raw: data}
}
