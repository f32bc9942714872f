// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Status is the result of a check.
type Status string

// The results of a check.
const (
	OK      Status = "OK"
	Warning Status = "Warning" // a feature that chats do not need does not work
	Failed  Status = "Failed"
	Unknown Status = "Unknown" // the check could not be made
)

// CheckHistory is the name of the check of the history API.
const CheckHistory = "history"

// Finding is the result of a check.
type Finding struct {
	Check   string `json:"check"`
	Status  Status `json:"status"`
	Message string `json:"message"`
	// Advice is the action that solves the problem.
	Advice string `json:"advice,omitempty"`
}

// Target is a namespace to check. The checks use the permissions of the client.
type Target struct {
	API       client.WithWatch
	Discovery discovery.DiscoveryInterface
	// Host is the address of the cluster, for messages.
	Host              string
	Namespace         string
	OperatorNamespace string
	// Provider is the ModelProvider that chats will use.
	Provider string
	// Probe makes the operator run a harmless tool.
	Probe bool
}

// Examine makes all checks, except those that depend on one that failed.
func (t Target) Examine(ctx context.Context) []Finding {
	findings, ok := t.reach(ctx)
	if !ok {
		return findings
	}
	if t.Probe {
		findings = append(findings, t.probe(ctx))
	} else {
		findings = append(findings, t.operator(ctx))
	}
	findings = append(append(findings, t.ledger(ctx)...), t.replicas(ctx)...)
	findings = append(findings, t.provider(ctx)...)
	used, shared := t.otherProviders(ctx)
	findings = append(append(findings, shared...), t.history(), t.permissions(ctx))
	return append(append(findings, t.objects(ctx, append(used, t.Provider))...), t.failedPolicies(ctx)...)
}

// ExamineInstallation makes the checks that do not depend on the user: whether an operator works, whether the history
// API is served, whether all shards have an owner and, if a provider is named, whether it is ready.
func (t Target) ExamineInstallation(ctx context.Context) []Finding {
	findings, ok := t.reach(ctx)
	if !ok {
		return findings
	}
	findings = append(findings, t.probe(ctx), t.history())
	if shared := t.replicas(ctx); len(shared) > 0 && shared[0].Status != Unknown {
		findings = append(findings, shared[0])
	}
	if t.Provider == "" {
		return findings
	}
	return append(findings, t.provider(ctx)[0])
}

// reach makes the checks that all others depend on: whether the cluster responds and has Nestor's kinds.
func (t Target) reach(ctx context.Context) (findings []Finding, ok bool) {
	findings = append(findings, t.cluster(ctx))
	if Healthy(findings) {
		findings = append(findings, t.resources())
	}
	return findings, Healthy(findings)
}

// Healthy reports whether no check failed.
func Healthy(findings []Finding) bool {
	return !slices.ContainsFunc(findings, func(f Finding) bool { return f.Status == Failed })
}

func finding(check string, status Status, format string, args ...any) Finding {
	return Finding{Check: check, Status: status, Message: fmt.Sprintf(format, args...)}
}

func (f Finding) advise(format string, args ...any) Finding {
	f.Advice = fmt.Sprintf(format, args...)
	return f
}
