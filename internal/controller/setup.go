// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller puts Nestor's controllers together. Each kind has a package of its own; resolve finds what objects
// refer to, and status writes conditions.
package controller

import (
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/nestor-dev/nestor/internal/controller/agentrole"
	"github.com/nestor-dev/nestor/internal/controller/modelprovider"
	"github.com/nestor-dev/nestor/internal/controller/resolve"
	"github.com/nestor-dev/nestor/internal/controller/toolserver"
)

// Options say how the controllers work.
type Options struct {
	// OperatorNamespace is where shared roles, providers and tool servers stand.
	OperatorNamespace string
}

// Setup registers all controllers with a manager.
func Setup(mgr ctrl.Manager, options Options) error {
	finder := resolve.Finder{Reader: mgr.GetClient(), Live: mgr.GetAPIReader(), OperatorNamespace: options.OperatorNamespace}
	for _, c := range []interface{ SetupWithManager(ctrl.Manager) error }{
		&agentrole.Reconciler{Client: mgr.GetClient(), Finder: finder},
		&modelprovider.Reconciler{Client: mgr.GetClient(), Finder: finder},
		&toolserver.Reconciler{Client: mgr.GetClient(), Finder: finder},
	} {
		if err := c.SetupWithManager(mgr); err != nil {
			return fmt.Errorf("set up %T: %w", c, err)
		}
	}
	return nil
}
