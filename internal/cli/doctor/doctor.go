// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"

	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Status is how a check came out.
type Status string

// How a check came out.
const (
	OK      Status = "OK"
	Warning Status = "Warning" // something does not work that a chat can do without
	Failed  Status = "Failed"
	Unknown Status = "Unknown" // it could not be found out
)

// CheckHistory is the name of the check of the history API.
const CheckHistory = "history"

// Finding is what a check found.
type Finding struct {
	Check   string `json:"check"`
	Status  Status `json:"status"`
	Message string `json:"message"`
	// Advice says what to do.
	Advice string `json:"advice,omitempty"`
}

// Patient is what is looked at: a namespace of a cluster, with somebody's rights.
type Patient struct {
	API       client.WithWatch
	Discovery discovery.DiscoveryInterface
	// Host is where the cluster is, for people.
	Host              string
	Namespace         string
	OperatorNamespace string
	// Provider is the ModelProvider that chats will use.
	Provider string
	// Probe asks for a harmless tool to be run.
	Probe bool
}

// Examine makes all checks. What depends on a check that failed is left out.
func (p Patient) Examine(ctx context.Context) []Finding {
	findings, ok := p.reach(ctx)
	if !ok {
		return findings
	}
	if p.Probe {
		findings = append(findings, p.probe(ctx))
	} else {
		findings = append(findings, p.operator(ctx))
	}
	findings = append(findings, p.provider(ctx)...)
	findings = append(findings, p.history(), p.rights(ctx))
	findings = append(append(findings, p.quotas(ctx)...), p.toolServers(ctx)...)
	findings = append(findings, p.chats(ctx)...)
	return append(findings, p.runs(ctx)...)
}

// ExamineInstallation makes the checks that do not depend on who asks: whether there is an operator that works, whether
// histories are served and, if a provider is named, whether it is ready.
func (p Patient) ExamineInstallation(ctx context.Context) []Finding {
	findings, ok := p.reach(ctx)
	if !ok {
		return findings
	}
	findings = append(findings, p.probe(ctx), p.history())
	if p.Provider == "" {
		return findings
	}
	return append(findings, p.provider(ctx)[0])
}

// reach makes the checks without which there is nothing to look at: whether there is a cluster, and Nestor's kinds in it.
func (p Patient) reach(ctx context.Context) (findings []Finding, ok bool) {
	findings = append(findings, p.cluster(ctx))
	if Healthy(findings) {
		findings = append(findings, p.resources())
	}
	return findings, Healthy(findings)
}

// Healthy reports whether no check failed.
func Healthy(findings []Finding) bool {
	for _, f := range findings {
		if f.Status == Failed {
			return false
		}
	}
	return true
}

func found(check string, status Status, format string, args ...any) Finding {
	return Finding{Check: check, Status: status, Message: fmt.Sprintf(format, args...)}
}

func (f Finding) advise(format string, args ...any) Finding {
	f.Advice = fmt.Sprintf(format, args...)
	return f
}
