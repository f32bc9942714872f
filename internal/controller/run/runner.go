// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package run contains the parts that the controllers of chats, tasks and sub-agents share: access to the states of agents, and the
// creation of the Kubernetes objects that a state asks for.
package run

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/controller/agentconfig"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// Runner connects objects with their agents.
type Runner struct {
	cluster.Reader
	Client client.Client
	Engine *engine.Router
	// Gate lets the controllers act on the trees that this operator owns.
	Gate   cluster.Gate
	Finder resolve.Finder
	Config *agentconfig.Resolver
	Status *status.Writer
	Ledger ledger.Histories
	// LedgerName is the name of the ledger in conditions.
	LedgerName string
	// MessageTaken is called with a message that a turn has taken and whose status does not show it.
	MessageTaken func(types.NamespacedName)
}
