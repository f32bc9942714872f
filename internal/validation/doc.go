// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package validation validates objects when they are created or updated. It refuses specs that can never work, and warns about references
// that do not exist yet.
//
//	object, old ─┐
//	             ├─ Judge ─▶ Verdict{Errors, Warnings}
//	Catalog ─────┘
//
// Judge is pure. The caller looks up what References and Globs return, and puts the result in the Catalog. Controllers call the same checks of
// specs (CheckRole, CheckTask, CheckTrigger) for their conditions, and work without this package's verdict: an object that was created
// while no operator answered has a condition with the same problem.
//
// check.go has the checks of specs, references.go what an object refers to, judge.go the verdict. Package catalog looks things up, and package
// endpoint serves the verdict.
package validation
