// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package fault kills the process at a chosen point, so that test suites can check what a crash there leaves behind. A random
// kill rarely hits the few microseconds between an append and what follows it; an armed point always does.
//
// A point is armed by the environment variable NESTOR_FAULT=POINT:COUNT: the process kills itself with SIGKILL when it reaches
// the point for the COUNT-th time. Without the variable there is no hook.
package fault

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/nestor-dev/nestor/internal/controller/agentevaluation"
	"github.com/nestor-dev/nestor/internal/controller/agentrole"
	"github.com/nestor-dev/nestor/internal/controller/agenttrigger"
	"github.com/nestor-dev/nestor/internal/engine"
)

// Variable is the environment variable that arms a point.
const Variable = "NESTOR_FAULT"

// FromEnvironment returns the hook that Variable arms, or nil if it is not set.
func FromEnvironment() (func(engine.Point), error) { return parse(os.Getenv(Variable), killSelf) }

func parse(value string, die func()) (func(engine.Point), error) {
	if value == "" {
		return nil, nil
	}
	name, number, _ := strings.Cut(value, ":")
	armed := engine.Point(name)
	points := slices.Concat(engine.Points(), agenttrigger.Points(), agentevaluation.Points(), []engine.Point{agentrole.AfterRevision})
	if !slices.Contains(points, armed) {
		return nil, fmt.Errorf("%s=%s: the point must be one of %v", Variable, value, points)
	}
	count, err := strconv.ParseInt(number, 10, 64)
	if err != nil || count < 1 {
		return nil, fmt.Errorf("%s=%s: the count after the colon must be a number from 1", Variable, value)
	}
	var reached atomic.Int64
	return func(point engine.Point) {
		if point == armed && reached.Add(1) == count {
			die()
		}
	}, nil
}

// killSelf simulates a power failure: nothing is flushed or closed.
func killSelf() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // a process may always signal itself
	select {}
}
