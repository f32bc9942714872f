// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type Gateway struct {
	*prometheus.CounterVec
}

func NewGateway() Gateway {
	return Gateway{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "nestor_gateway_requests_total",
		Help: "Requests to the gateway that have ended, by door (the protocol) and HTTP status.",
	}, []string{"door", "code"})}
}

func (g Gateway) Observe(door string, code int, _ time.Duration) {
	g.WithLabelValues(door, strconv.Itoa(code)).Inc()
}
