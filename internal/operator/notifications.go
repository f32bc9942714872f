// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/client-go/kubernetes"

	"github.com/nestor-dev/nestor/internal/controller/notify"
	"github.com/nestor-dev/nestor/internal/gateway/a2a"
	"github.com/nestor-dev/nestor/internal/metrics"
	"github.com/nestor-dev/nestor/internal/outbound"
	"github.com/nestor-dev/nestor/internal/push"
)

// defaultGateway is the name of the gateway's Service if there is none, as in local mode.
const defaultGateway = "nestor-gateway"

// pushReach returns where receivers of push notifications may be: clients choose their URLs.
func (o *Operator) pushReach() outbound.Options {
	return outbound.Options{
		AllowLoopback: o.options.Controllers.AllowLoopbackEndpoints, PublicOnly: true, Private: o.options.Gateway.PushNetworks,
	}
}

// notifications returns the controller of push notifications, or nil without a gateway: only a client of the gateway can register for them.
func (o *Operator) notifications(ctx context.Context) (*notify.Reconciler, error) {
	if off(o.options.Gateway.Address) && !o.options.Gateway.InProcess {
		return nil, nil
	}
	core, err := kubernetes.NewForConfig(o.manager.GetConfig())
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	o.pushKeys = &push.Keyring{
		Secrets: core.CoreV1().Secrets(o.options.Controllers.OperatorNamespace), Name: cmp.Or(o.options.Gateway.Service, defaultGateway) + "-keys", Owner: o.leaseOwner().find(ctx),
	}
	attempts := metrics.NewNotifications()
	if err := o.register(attempts); err != nil {
		return nil, err
	}
	return &notify.Reconciler{
		Sender:   notify.NewSender(o.pushKeys, "https://"+o.gatewayHost(), o.pushReach()),
		Describe: a2a.Notification, OnAttempt: attempts.Observe,
	}, nil
}
