// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package trigger

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/trigger/cron"
)

// machine drives a trigger through firings, ends of work, and changes of the clock and of the spec.
type machine struct {
	spec    v1beta1.AgentTriggerSpec
	status  v1beta1.AgentTriggerStatus
	every   *cron.Schedule
	created time.Time
	now     time.Time

	ids, keys map[string]time.Time // until when another firing is refused
	names     map[string]bool
	lastTime  time.Time
	firings   int64
	dropped   int64
}

func newMachine(t *rapid.T) *machine {
	every, err := cron.Parse(v1beta1.TriggerSchedule{Cron: "*/5 * * * *"})
	if err != nil {
		t.Fatal(err)
	}
	start := at("2026-01-01T00:00:00Z")
	policy := rapid.SampledFrom([]v1beta1.ConcurrencyPolicy{v1beta1.ConcurrencyAllow, v1beta1.ConcurrencyForbid, v1beta1.ConcurrencyReplace}).Draw(t, "policy")
	return &machine{
		spec: v1beta1.AgentTriggerSpec{ConcurrencyPolicy: policy, DedupSeconds: int32(rapid.IntRange(1, 7200).Draw(t, "dedupSeconds")),
			Schedule: &v1beta1.TriggerSchedule{Cron: "*/5 * * * *"}},
		every: every, created: start, now: start, ids: map[string]time.Time{}, keys: map[string]time.Time{}, names: map[string]bool{},
	}
}

// observe reads the schedule. It begins again if the clock was set back since the last observation by more than a wrong
// clock explains.
func (m *machine) observe() {
	if m.lastTime.Sub(m.now) > maxClockError {
		m.lastTime = m.now
	}
	m.status = Observe(m.spec, m.status, m.created, m.now)
}

// decide makes a decision and checks what must hold for it.
func (m *machine) decide(t *rapid.T, f Firing, key string) Decision {
	before := m.status.DeepCopy()
	after, d := Decide(Identity{"t", "u"}, m.spec, m.status, m.now, f, Work{Key: key, Kind: v1beta1.TargetTask, Target: []byte(`{}`)})
	if again, other := Decide(Identity{"t", "u"}, m.spec, m.status, m.now, f, Work{Key: key, Kind: v1beta1.TargetTask, Target: []byte(`{}`)}); other != d || !equality.Semantic.DeepEqual(again, after) {
		t.Fatal("the decision is not deterministic")
	}
	if !equality.Semantic.DeepEqual(*before, m.status) {
		t.Fatal("the decision changed its input")
	}
	m.status = after
	switch d.Outcome {
	case Fired:
		m.firings++
		m.checkFired(t, f, key, before)
	case Dropped:
		m.dropped++
	}
	if f.isScheduled() && (d.Outcome == Fired || d.Outcome == Dropped) {
		m.dropped += f.Missed
	}
	return d
}

func (m *machine) checkFired(t *rapid.T, f Firing, key string, before *v1beta1.AgentTriggerStatus) {
	if m.spec.Suspend {
		t.Fatal("a suspended trigger fired")
	}
	if m.spec.ConcurrencyPolicy == v1beta1.ConcurrencyForbid && len(before.Active) > 0 {
		t.Fatalf("fired while %v was active", before.Active)
	}
	if until, ok := m.ids[f.ID]; ok && m.now.Before(until) {
		t.Fatalf("the firing %s happened twice within its window", f.ID)
	}
	m.ids[f.ID] = m.now.Add(idWindow).Truncate(time.Second)
	if key != "" {
		if until, ok := m.keys[key]; ok && m.now.Before(until) {
			t.Fatalf("the key %s fired twice within its window", key)
		}
		m.keys[key] = m.now.Add(time.Duration(m.spec.DedupSeconds) * time.Second).Truncate(time.Second)
	}
	if f.isScheduled() {
		if !f.Time.After(m.lastTime) {
			t.Fatalf("the time %s fired after %s", f.Time, m.lastTime)
		}
		m.lastTime = f.Time
		if f.Time.After(m.now) || m.every.Next(f.Time).Before(m.now.Add(time.Nanosecond)) {
			t.Fatalf("at %s the time %s fired, which is not the newest", m.now, f.Time)
		}
		name := Name("t", "u", f.ID)
		if m.names[name] {
			t.Fatalf("the name %s was used twice", name)
		}
		m.names[name] = true
	}
}

func (m *machine) check(t *rapid.T) {
	s := m.status
	if len(s.Pending) > MaxPending || len(s.Active) > MaxActive || len(s.RecentKeys) > maxRecent || len(s.Latched) > MaxLatched {
		t.Fatalf("%d pending, %d active, %d keys, %d latched", len(s.Pending), len(s.Active), len(s.RecentKeys), len(s.Latched))
	}
	if s.Firings != m.firings || s.Dropped != m.dropped {
		t.Fatalf("%d firings and %d dropped, want %d and %d", s.Firings, s.Dropped, m.firings, m.dropped)
	}
	for _, p := range s.Pending {
		if !slices.Contains(s.Active, p.Name) {
			t.Fatalf("the pending %s is not active", p.Name)
		}
	}
}

// actions are the events that may happen to a trigger.
func (m *machine) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"": m.check,
		"webhook": func(t *rapid.T) {
			m.decide(t, Firing{ID: WebhookID(rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 1, 3, -1).Draw(t, "id")), Time: m.now},
				rapid.SampledFrom([]string{"", "k1", "k2"}).Draw(t, "key"))
		},
		"memory fills": func(t *rapid.T) {
			most := rapid.IntRange(0, maxRecent).Draw(t, "keys")
			for i := len(m.status.RecentKeys); i < most; i++ {
				m.status.RecentKeys = append(m.status.RecentKeys, fmt.Sprintf("%s:%d", Hash(fmt.Sprint(i)), m.now.Add(time.Hour).Unix()))
			}
		},
		"object": func(t *rapid.T) {
			hash := Hash(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "object"))
			rearmed := rapid.Bool().Draw(t, "rearmed")
			latched := slices.Contains(m.status.Latched, hash)
			d := m.decide(t, Firing{ID: ObjectID("u", rapid.StringN(1, 2, 2).Draw(t, "version")), Object: hash, Rearmed: rearmed, Time: m.now}, "")
			if d.Outcome == Fired && latched && !rearmed {
				t.Fatal("fired for an object for which the condition was true before")
			}
			if d.Outcome == Fired && !slices.Contains(m.status.Latched, hash) {
				t.Fatal("the object is not latched")
			}
		},
		"schedule": func(t *rapid.T) {
			m.observe()
			if f, due := Due(m.every, m.status, m.now); due && !m.spec.Suspend {
				m.decide(t, f, "")
			}
		},
		"expression fails": func(t *rapid.T) {
			after, d := Drop(m.spec, m.status, m.now, Firing{ID: WebhookID(rapid.SampledFrom([]string{"a", "b", "x"}).Draw(t, "id"))}, v1beta1.DropExpressionFailed, "no such key")
			if m.status = after; d.Outcome == Dropped {
				m.dropped++
			}
		},
		"confirm": func(t *rapid.T) {
			if count := len(m.status.Pending); count > 0 {
				m.status.Pending = m.status.Pending[rapid.IntRange(1, count).Draw(t, "confirmed"):]
			}
		},
		"work ends": func(t *rapid.T) {
			m.status.Active = slices.DeleteFunc(slices.Clone(m.status.Active), func(name string) bool {
				return !slices.ContainsFunc(m.status.Pending, func(p v1beta1.PendingFiring) bool { return p.Name == name }) && rapid.Bool().Draw(t, "ends")
			})
		},
		"time passes": func(t *rapid.T) {
			m.now = m.now.Add(time.Duration(rapid.IntRange(0, 3*3600).Draw(t, "seconds")) * time.Second)
			for _, until := range []map[string]time.Time{m.ids, m.keys} { // what has expired stays expired if the clock is set back
				maps.DeleteFunc(until, func(_ string, at time.Time) bool { return !m.now.Before(at) })
			}
		},
		"the clock is set back": func(t *rapid.T) {
			m.now = m.now.Add(-time.Duration(rapid.IntRange(0, 12*3600).Draw(t, "seconds")) * time.Second)
		},
		"suspend": func(t *rapid.T) {
			m.spec.Suspend = rapid.Bool().Draw(t, "suspend")
			m.observe()
		},
	}
}

// TestFiringsHappenOnce draws sequences of what may happen to a trigger.
func TestFiringsHappenOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { t.Repeat(newMachine(t).actions()) })
}

// TestOneOfTwoWritersFires lets two operators decide about firings with the same status. The API server accepts one of
// their writes, and the other decides again.
func TestOneOfTwoWritersFires(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		for range rapid.IntRange(1, 50).Draw(t, "rounds") {
			m.now = m.now.Add(time.Duration(rapid.IntRange(0, 900).Draw(t, "seconds")) * time.Second)
			f := Firing{ID: WebhookID(rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "id")), Time: m.now}
			first := m.decide(t, f, "")
			second := m.decide(t, f, "") // after the conflict, with the new status
			if first.Outcome == Fired && second.Outcome != Duplicate {
				t.Fatalf("the second writer decides %s", second.Outcome)
			}
			m.status.Pending, m.status.Active = nil, nil
			m.check(t)
		}
	})
}
