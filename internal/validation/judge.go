// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/shorten"
	"github.com/nestor-dev/nestor/internal/tool"
)

const (
	// maxWarnings and maxWarning keep the warnings of one object below the 4096 characters that the API server passes on.
	maxWarnings = 8
	maxWarning  = 250
	// maxMessage bounds the message of a refusal.
	maxMessage = 1000
)

// Catalog contains the objects and tools of the cluster that an object refers to. The zero Catalog, of a cluster
// that could not be read, gives no warnings.
type Catalog struct {
	// Missing has the references that cannot be used, with what to do about it.
	Missing map[Reference]string
	// Tools are the names of all known tools.
	Tools []string
	// Unlisted are the ToolServers with tools that are not in Tools.
	Unlisted []string
}

// Verdict is the decision about an object. With Errors it is refused.
type Verdict struct {
	Errors   []*Problem
	Warnings []string
}

// Judge decides about an object that is created, or updated if old is not nil. An error that the old object also has is
// a warning: a trigger that does not compile can still be suspended.
func Judge(object, old runtime.Object, catalog Catalog) Verdict {
	var v Verdict
	if problem := findProblem(object); problem != nil {
		if before := findProblem(old); before != nil && before.Error() == problem.Error() {
			v.Warnings = append(v.Warnings, problem.Error())
		} else {
			v.Errors = append(v.Errors, problem)
		}
	}
	v.Warnings = bounded(append(v.Warnings, warnings(object, catalog)...))
	return v
}

func findProblem(object runtime.Object) *Problem {
	var problem *Problem
	if !errors.As(check(object), &problem) {
		return nil
	}
	problem.Message = shorten.Head(shorten.Line(problem.Message), maxMessage)
	return problem
}

// Warnings returns what does not exist of the objects and tools that an object refers to.
func Warnings(object runtime.Object, catalog Catalog) []string {
	return bounded(warnings(object, catalog))
}

func warnings(object runtime.Object, catalog Catalog) []string {
	var list []string
	absent := map[string]bool{} // the servers that have a warning already
	for _, reference := range References(object) {
		todo, missing := catalog.Missing[reference]
		if !missing {
			continue
		}
		list = append(list, reference.Field+": "+todo)
		absent[reference.Name] = absent[reference.Name] || reference.Kind == KindToolServer
	}
	for _, glob := range Globs(object) {
		if server, _ := tool.ServerOf(glob.Pattern); !absent[server] && !catalog.mayMatch(glob.Pattern) {
			list = append(list, fmt.Sprintf("%s: %q matches no tool.", glob.Field, glob.Pattern))
		}
	}
	return list
}

// mayMatch reports whether a glob matches a tool, or may match one that is not known.
func (c Catalog) mayMatch(glob string) bool {
	if len(c.Tools) == 0 {
		return true
	}
	return slices.ContainsFunc(c.Tools, func(name string) bool { return agent.MatchesAny([]string{glob}, name) }) ||
		slices.ContainsFunc(c.Unlisted, func(server string) bool { return tool.MayMatchToolsOf(glob, server) })
}

// bounded returns the first warnings, shortened, and how many there are besides.
func bounded(list []string) []string {
	more := len(list) - maxWarnings
	if more > 0 {
		list = append(list[:maxWarnings:maxWarnings], fmt.Sprintf("and %d more problems", more))
	}
	for i := range list {
		list[i] = shorten.Head(shorten.Line(list[i]), maxWarning)
	}
	return list
}
