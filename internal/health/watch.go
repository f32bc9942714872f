// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"reflect"
	"time"
)

// interval is the time between two reads of Watch.
const interval = 3 * time.Second

// Watch sends the problems whenever they change, and at first if there are any, until ctx ends. A failed read
// changes nothing: the caller detects itself that the API server does not answer.
func (n Namespace) Watch(ctx context.Context) <-chan []Problem {
	changes := make(chan []Problem)
	go func() {
		defer close(changes)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		var last []Problem
		for {
			now, err := n.find(ctx)
			if err == nil && !reflect.DeepEqual(keys(now), keys(last)) {
				select {
				case changes <- now:
					last = now
				case <-ctx.Done():
					return
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	}()
	return changes
}

// find returns the problems, after it has found the operator.
func (n *Namespace) find(ctx context.Context) ([]Problem, error) {
	if n.OperatorNamespace == "" {
		operator, err := FindOperator(ctx, n.API)
		if err != nil {
			return nil, err
		}
		n.OperatorNamespace = operator
	}
	return n.Problems(ctx)
}

func keys(list []Problem) []string {
	all := make([]string, 0, len(list))
	for _, p := range list {
		all = append(all, p.Key())
	}
	return all
}
