// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// certificateFiles reads the files of a certificate again when they change, as a part of the manager.
type certificateFiles struct {
	*dynamiccertificates.DynamicCertKeyPairContent
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (certificateFiles) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (c certificateFiles) Start(ctx context.Context) error {
	c.Run(ctx, 1)
	return nil
}
