// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"slices"
	"sync/atomic"
)

// ruleList has the rules of some scripts in order, with the number of their answers. Only the counts change, so
// requests read it without a lock.
type ruleList struct {
	scripts  []*Script
	rules    []countedRule
	models   []string
	fallback *reply
}

type countedRule struct {
	*rule

	used *atomic.Int64
}

func newRuleList(scripts []*Script) *ruleList {
	p := &ruleList{scripts: scripts}
	for _, script := range scripts {
		for _, r := range script.rules {
			p.rules = append(p.rules, countedRule{rule: r, used: new(atomic.Int64)})
		}
		for _, m := range script.doc.Models {
			if !slices.Contains(p.models, m) {
				p.models = append(p.models, m)
			}
		}
		if p.fallback == nil {
			p.fallback = script.doc.Fallback
		}
	}
	return p
}

// choose finds the first matching rule with answers left, and uses one of them.
func (p *ruleList) choose(c *conversation) (*reply, string, map[string]any) {
	captures := map[string]any{}
	for i := range p.rules {
		r := &p.rules[i]
		if !r.Match.matches(c, captures) || !r.take() {
			clear(captures)
			continue
		}
		return r.Reply, r.where, captures
	}
	return p.fallback, "fallback", captures
}

func (p *countedRule) take() bool {
	if p.Times == 0 {
		return true
	}
	return p.used.Add(1) <= int64(p.Times)
}
