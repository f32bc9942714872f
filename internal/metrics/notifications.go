// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import "github.com/prometheus/client_golang/prometheus"

// Notifications counts the attempts to deliver push notifications.
type Notifications struct {
	*prometheus.CounterVec
}

func NewNotifications() Notifications {
	return Notifications{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "nestor_push_notifications_total",
		Help: "Attempts to deliver push notifications, by result: delivered, failed (it may be repeated) or refused (it is not repeated).",
	}, []string{"result"})}
}

func (n Notifications) Observe(result string) { n.WithLabelValues(result).Inc() }
