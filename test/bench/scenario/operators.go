// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/nestor-dev/nestor/test/bench/cgroup"
	"github.com/nestor-dev/nestor/test/patience"
	"github.com/nestor-dev/nestor/test/stack"
)

const (
	// shards is the default number of shards of an operator, and leaseDuration how long it keeps them after its last
	// renewal.
	shards        = 32
	leaseDuration = 8 * time.Second
)

// replicas describes the operators of a scenario that share the work.
type replicas struct {
	count int
	// cores is the CPU limit of each operator; 0 means no limit.
	cores float64
}

// operator is a running operator.
type operator struct {
	*stack.Process
	// id is its ID in the ledger; empty if it is the only operator.
	id string
	// profiles is the address of its profiles.
	profiles atomic.Value
	// group limits its CPU time; nil for no limit.
	group *cgroup.Group
}

func newOperator(s *stack.Stack) *operator {
	o := &operator{}
	o.replaceBy(s)
	return o
}

// replaceBy makes the operator the newest one of a stack.
func (o *operator) replaceBy(s *stack.Stack) {
	o.Process = s.Operator
	o.profiles.Store(s.Profiles)
}

func (o *operator) profileAddress() string {
	address, _ := o.profiles.Load().(string)
	return address
}

func (o *operator) stop() error {
	err := o.Kill()
	if o.group != nil {
		err = errors.Join(err, o.group.Remove())
	}
	return err
}

// startOperators starts the operators of a scenario, and waits until they are ready and have divided the shards.
func (r *harness) startOperators(ctx context.Context, several *replicas) error {
	if several == nil {
		err := r.stack.StartOperator(ctx)
		r.operators = []*operator{newOperator(r.stack)}
		return err
	}
	for i := range several.count {
		if err := r.startReplica(ctx, i, several.cores); err != nil {
			return err
		}
	}
	return r.waitForSpread(ctx)
}

// startReplica starts one of several operators.
func (r *harness) startReplica(ctx context.Context, index int, cores float64) error {
	if err := r.stack.LaunchOperator(ctx, fmt.Sprint("POD_NAME=operator-", index)); err != nil {
		return err
	}
	o := newOperator(r.stack)
	r.operators = append(r.operators, o)
	if cores > 0 {
		var err error
		if o.group, err = cgroup.New(fmt.Sprintf("nestor-bench-%d-%d", os.Getpid(), index), cores); err != nil {
			return err
		}
		if err := o.group.Add(o.Pid); err != nil {
			return err
		}
	}
	if err := r.stack.AwaitReady(ctx); err != nil {
		return err
	}
	return r.identify(ctx, o)
}

// spreadTime is the time until the rows of operators that ended have expired.
const spreadTime = 45 * time.Second

// identify finds the ID of the operator that was started last.
func (r *harness) identify(ctx context.Context, o *operator) error {
	err := r.waitForOwners(ctx, func(members []string, _ map[int]string) bool {
		known := map[string]bool{}
		for _, other := range r.operators {
			known[other.id] = true
		}
		for _, id := range members {
			if !known[id] {
				o.id = id
				return true
			}
		}
		return false
	})
	if err != nil {
		return fmt.Errorf("find the row of a new operator: %w", err)
	}
	return nil
}

// waitForSpread waits until each operator holds its part of the shards.
func (r *harness) waitForSpread(ctx context.Context) error {
	err := r.waitForOwners(ctx, func(_ []string, holders map[int]string) bool { return r.isSpread(holders) })
	if err != nil {
		return fmt.Errorf("wait until the shards are divided: %w\n%s", err, r.stack.OperatorLog())
	}
	return nil
}

func (r *harness) isSpread(holders map[int]string) bool {
	held := map[string]int{}
	for _, id := range holders {
		held[id]++
	}
	sum := 0
	for _, o := range r.operators {
		n := held[o.id]
		if n < shards/len(r.operators) {
			return false
		}
		sum += n
	}
	return sum == shards
}

// waitForOwners waits until the replicas and the owners of shards are as wanted.
func (r *harness) waitForOwners(ctx context.Context, wanted func(members []string, holders map[int]string) bool) error {
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, spreadTime+patience.Limit(), true, func(ctx context.Context) (bool, error) {
		members, holders, err := r.ledger.Owners(ctx)
		return err == nil && wanted(members, holders), err
	})
}
