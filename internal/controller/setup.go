// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller puts Nestor's controllers together. Each kind has a package of its own; resolve finds what objects
// refer to, and status writes conditions.
package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/nestor-dev/nestor/internal/controller/agentrole"
	"github.com/nestor-dev/nestor/internal/controller/modelprovider"
	"github.com/nestor-dev/nestor/internal/controller/poke"
	"github.com/nestor-dev/nestor/internal/controller/resolve"
	"github.com/nestor-dev/nestor/internal/controller/toolserver"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
	"github.com/nestor-dev/nestor/internal/version"
)

// Options say how the controllers work.
type Options struct {
	// OperatorNamespace is where shared roles, providers and tool servers stand.
	OperatorNamespace string
}

// Setup registers all controllers with a manager.
func Setup(mgr ctrl.Manager, options Options) error {
	finder := resolve.Finder{Reader: mgr.GetClient(), Live: mgr.GetAPIReader(), OperatorNamespace: options.OperatorNamespace}
	pokes := poke.New()
	pool := mcp.NewPool(mcp.Options{Version: version.String(), Changed: func(key mcp.Key) {
		pokes.Add(types.NamespacedName{Namespace: key.Namespace, Name: key.Server})
	}})
	for _, runnable := range []manager.Runnable{pokes, manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		return pool.Close(context.WithoutCancel(ctx))
	})} {
		if err := mgr.Add(runnable); err != nil {
			return fmt.Errorf("add the tool servers' sessions: %w", err)
		}
	}
	for _, c := range []interface{ SetupWithManager(ctrl.Manager) error }{
		&agentrole.Reconciler{Client: mgr.GetClient(), Finder: finder},
		&modelprovider.Reconciler{Client: mgr.GetClient(), Finder: finder},
		&toolserver.Reconciler{Client: mgr.GetClient(), Finder: finder, Pool: pool, Changed: pokes},
	} {
		if err := c.SetupWithManager(mgr); err != nil {
			return fmt.Errorf("set up %T: %w", c, err)
		}
	}
	return nil
}
