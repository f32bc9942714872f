// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package exchange

import (
	"cmp"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// The first request of a fork is an edit of the last one of its origin, whatever the fork changes, and can be rebuilt from it byte for byte.
// The next requests of the fork continue it.
func TestForkEditsTheRequestOfItsOrigin(t *testing.T) {
	origin := newConversation(1 << 40)
	for n := range 40 {
		origin = addTurn(origin, n)
	}
	first := ledger.ModelCall{Seq: 3, StartedAt: time.Unix(1, 0)}
	request := newRequest(agent.BuildPrompt(origin))
	request.Model, request.IdempotencyKey = "small", "origin/m41/1"
	Record(&first, request, origin, nil)
	ended := addTurn(origin, 100) // the point of the fork may be later than the last request
	tools := func(names ...string) (all []agent.Tool) {
		for _, name := range names {
			all = append(all, agent.Tool{Name: name, ReadOnly: true, Description: "Sieht nach: " + name + " ›"})
		}
		return all
	}
	for name, change := range map[string]func(*agent.Config){
		"nothing":              func(*agent.Config) {},
		"the model":            func(c *agent.Config) { c.Provider, c.Model = "other", "größer" },
		"the output limit":     func(c *agent.Config) { c.Limits.MaxOutputTokens = 77 },
		"the prompt":           func(c *agent.Config) { c.Role.Prompt = "Du arbeitest gründlich." },
		"prompt and model":     func(c *agent.Config) { c.Role.Prompt, c.Model = "You wörk.", "other" },
		"more tools":           func(c *agent.Config) { c.Tools, c.Role.Allow = tools("look", "überall"), []string{"*"} },
		"no tools but its own": func(c *agent.Config) { c.Tools, c.Model = nil, "x" },
	} {
		for _, point := range []agent.State{origin, ended} {
			t.Run(name, func(t *testing.T) {
				read := first
				read.Request = append(json.RawMessage(nil), first.Request...)
				before := Resume(read, origin, time.Unix(2, 0))
				if before == nil {
					t.Fatal("the request cannot be continued")
				}
				s := point
				change(&s.Config)
				chain := []json.RawMessage{first.Request}
				for i := range 3 {
					req := before.Next(s)
					if want, got := string(Encode(newRequest(agent.BuildPrompt(s)))), string(Encode(req)); want != got {
						t.Fatalf("request %d is\n%s\nwant\n%s", i, got, want)
					}
					req.Model, req.IdempotencyKey = cmp.Or(s.Config.Model, "small"), fmt.Sprintf("fork/m%d/1", i)
					call := ledger.ModelCall{Seq: int64(1000 + i), StartedAt: time.Unix(int64(3+i), 0)}
					before = Record(&call, req, s, before)
					if chain = append(chain, call.Request); call.Place != i+1 || call.Chain != 3 {
						t.Fatalf("request %d is at place %d of the chain %d", i, call.Place, call.Chain)
					}
					if len(call.Request) > 4000 {
						t.Errorf("request %d has %d bytes", i, len(call.Request))
					}
					whole, err := ledger.Rebuild(chain)
					if err != nil || string(whole) != string(Encode(req)) {
						at := ledger.CommonPrefix(whole, Encode(req))
						t.Fatalf("request %d is rebuilt (%v) and differs from byte %d:\n%s\nwant\n%s", i, err, at, whole[max(0, at-20):], Encode(req)[max(0, at-20):])
					}
					s = addTurn(s, 200+i)
				}
			})
		}
	}
}
