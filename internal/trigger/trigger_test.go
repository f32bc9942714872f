// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package trigger

import (
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/trigger/cron"
	"github.com/nestor-dev/nestor/internal/trigger/expr"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

func schedule(t *testing.T, expression, zone string) *cron.Schedule {
	t.Helper()
	s, err := cron.Parse(v1beta1.TriggerSchedule{Cron: expression, TimeZone: zone})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestScheduleTimeZones(t *testing.T) {
	for _, c := range []struct{ cron, zone, after, next string }{
		{"0 7 * * 1-5", "", "2026-11-13T07:00:00Z", "2026-11-16T07:00:00Z"},
		{"0 7 * * 1-5", "Europe/Berlin", "2026-11-16T05:59:59Z", "2026-11-16T06:00:00Z"},
		{"@daily", "America/New_York", "2026-07-01T00:00:00Z", "2026-07-01T04:00:00Z"},
		{"*/15 * * * *", "Asia/Kolkata", "2026-07-01T00:00:01Z", "2026-07-01T00:15:00Z"},
		// In the night when the clocks go forward, 2:30 does not exist; when they go back, the times of the hour come
		// twice.
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"},
	} {
		if got := schedule(t, c.cron, c.zone).Next(at(c.after)); !got.Equal(at(c.next)) {
			t.Errorf("%s in %q after %s: %s, want %s", c.cron, c.zone, c.after, got, c.next)
		}
	}
	for _, c := range []struct{ cron, zone, want string }{
		{"0 7 * * *", "Mars/Olympus", `spec.schedule.timeZone: "Mars/Olympus" is not a known time zone`},
		{"0 25 * * *", "", "spec.schedule.cron: "},
		{"0 0 31 2 *", "", "has no time: the day does not exist"},
	} {
		if _, err := cron.Parse(v1beta1.TriggerSchedule{Cron: c.cron, TimeZone: c.zone}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s in %q: %v, want %q", c.cron, c.zone, err, c.want)
		}
	}
}

func TestNewestMissedTimeIsFast(t *testing.T) {
	for _, c := range []struct {
		cron, after, now, newest string
		older                    int64
	}{
		{"* * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:00:59Z", "", 0},
		{"* * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z", "2026-01-01T00:01:00Z", 0},
		{"* * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:10:30Z", "2026-01-01T00:10:00Z", 9},
		{"* * * * *", "2020-01-01T00:00:00Z", "2026-01-01T00:00:30Z", "2026-01-01T00:00:00Z", 1000},
		{"0 0 1 1 *", "2023-06-01T00:00:00Z", "2026-06-01T00:00:00Z", "2026-01-01T00:00:00Z", 2},
		{"0 0 29 2 *", "2019-01-01T00:00:00Z", "2027-06-01T00:00:00Z", "2024-02-29T00:00:00Z", 1},
		{"* * * * *", "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z", "", 0},
	} {
		newest, older, ok := schedule(t, c.cron, "").Newest(at(c.after), at(c.now))
		if ok != (c.newest != "") || older != c.older || (ok && !newest.Equal(at(c.newest))) {
			t.Errorf("%s from %s to %s: %s, %d older, %t; want %s and %d", c.cron, c.after, c.now, newest, older, ok, c.newest, c.older)
		}
	}
}

// TestWhenAScheduleApplies follows a trigger through changes of its spec.
func TestWhenAScheduleApplies(t *testing.T) {
	minute := func(suspend bool, deadline *int32) v1beta1.AgentTriggerSpec {
		return v1beta1.AgentTriggerSpec{Suspend: suspend, Schedule: &v1beta1.TriggerSchedule{Cron: "* * * * *", StartingDeadlineSeconds: deadline}}
	}
	hourly := v1beta1.AgentTriggerSpec{Schedule: &v1beta1.TriggerSchedule{Cron: "0 * * * *"}}
	created := at("2026-01-01T00:00:30Z")
	every := schedule(t, "* * * * *", "")
	var status v1beta1.AgentTriggerStatus
	due := func(spec v1beta1.AgentTriggerSpec, now, want string, missed int64) {
		t.Helper()
		status = Observe(spec, status, created, at(now))
		s := schedule(t, spec.Schedule.Cron, "")
		f, ok := Due(s, status, at(now))
		if ok != (want != "") || (ok && (!f.Time.Equal(at(want)) || f.Missed != missed)) {
			t.Errorf("at %s: %t, %s and %d missed, want %s and %d", now, ok, f.Time, f.Missed, want, missed)
		}
		if ok {
			status, _ = Decide(Identity{"t", "u"}, spec, status, at(now), f, Work{Kind: v1beta1.TargetTask, Target: []byte("{}")})
			status.Pending, status.Active = nil, nil
		}
	}
	due(minute(false, nil), "2026-01-01T00:00:59Z", "", 0)
	due(minute(false, nil), "2026-01-01T00:03:10Z", "2026-01-01T00:03:00Z", 2) // since its creation, before the first reconcile
	due(minute(false, nil), "2026-01-01T00:03:20Z", "", 0)
	due(hourly, "2026-01-01T05:30:00Z", "", 0) // times before the change do not fire
	due(hourly, "2026-01-01T06:00:05Z", "2026-01-01T06:00:00Z", 0)

	status = Observe(minute(true, nil), status, created, at("2026-01-01T06:10:00Z"))
	if status.NextScheduleTime != nil {
		t.Errorf("a suspended trigger has a next time: %s", status.NextScheduleTime)
	}
	due(minute(false, nil), "2026-01-01T07:00:30Z", "", 0) // without a deadline, a suspension is not caught up
	status = Observe(minute(true, new(int32(120))), status, created, at("2026-01-01T07:00:40Z"))
	due(minute(false, new(int32(120))), "2026-01-01T09:00:30Z", "2026-01-01T09:00:00Z", 1) // with one, that much is

	// The clock is set back, and nothing fires until it has passed the last time.
	due(minute(false, nil), "2026-01-01T08:00:30Z", "", 0)
	if next := NextTime(every, status, at("2026-01-01T08:00:30Z")); !next.Equal(at("2026-01-01T09:01:00Z")) {
		t.Errorf("after the clock was set back, the next time is %s", next)
	}
	if PastDeadline(minute(false, new(int32(60))), Firing{Time: at("2026-01-01T00:00:00Z")}, at("2026-01-01T00:01:00Z")) != "" {
		t.Error("the deadline has not passed")
	}
	if PastDeadline(minute(false, new(int32(60))), Firing{Time: at("2026-01-01T00:00:00Z")}, at("2026-01-01T00:01:01Z")) == "" {
		t.Error("the deadline has passed")
	}
	status = Observe(v1beta1.AgentTriggerSpec{Webhook: &v1beta1.TriggerWebhook{}}, status, created, at("2026-01-01T09:00:30Z"))
	if status.ScheduleStartTime != nil || status.NextScheduleTime != nil || status.LastScheduleTime == nil {
		t.Errorf("after the schedule was removed: %+v", status)
	}
	status.ObservedGeneration = 1
	due(hourly, "2026-01-01T12:30:00Z", "", 0) // times while there was another source do not fire
	due(hourly, "2026-01-01T13:00:05Z", "2026-01-01T13:00:00Z", 0)
}

// TestClockJumpsForward has a clock that is years ahead for a while. The schedule continues when it is right again,
// from then, and so do firings with a key.
func TestClockJumpsForward(t *testing.T) {
	spec := v1beta1.AgentTriggerSpec{Schedule: &v1beta1.TriggerSchedule{Cron: "* * * * *"}, DedupSeconds: 60, Task: &v1beta1.TriggerTask{}}
	minutes := schedule(t, spec.Schedule.Cron, "")
	created := at("2026-01-01T00:00:30Z")
	var status v1beta1.AgentTriggerStatus
	fire := func(now string) Outcome {
		status = Observe(spec, status, created, at(now))
		f, ok := Due(minutes, status, at(now))
		if !ok {
			return ""
		}
		var decision Decision
		status, decision = Decide(Identity{"t", "u"}, spec, status, at(now), f, Work{Key: "k", Kind: v1beta1.TargetTask, Target: []byte("{}")})
		status.Pending, status.Active = nil, nil
		return decision.Outcome
	}
	for _, c := range []struct {
		now  string
		want Outcome
	}{
		{"2026-01-01T00:01:10Z", Fired}, {"2030-01-01T00:00:10Z", Fired}, {"2026-01-01T00:02:10Z", ""}, {"2026-01-01T00:03:10Z", Fired},
		{"2026-01-01T00:02:50Z", ""}, {"2026-01-01T00:05:00Z", Fired},
	} {
		if got := fire(c.now); got != c.want {
			t.Errorf("%s: %q, want %q", c.now, got, c.want)
		}
	}
	if next := NextTime(minutes, status, at("2026-01-01T00:05:00Z")); !next.Equal(at("2026-01-01T00:06:00Z")) {
		t.Errorf("the next time is %s", next)
	}
}

func TestNamesAreValidAndUnique(t *testing.T) {
	valid := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	names := map[string]bool{}
	for _, trigger := range []string{"a", "nightly-review", strings.Repeat("a", 51) + "-" + strings.Repeat("b", 11), strings.Repeat("a", 63)} {
		for _, uid := range []types.UID{"one", "two"} {
			for _, id := range []string{"s1", "s2"} {
				name := Name(trigger, uid, id)
				if !valid.MatchString(name) || len(name) > 63 || names[name] || name != Name(trigger, uid, id) {
					t.Errorf("%s %s %s: %q", trigger, uid, id, name)
				}
				names[name] = true
			}
		}
	}
}

func TestIDsAreBounded(t *testing.T) {
	if got := ObjectID("u", "12"); got != "ou-12" {
		t.Error(got)
	}
	if got := ManualID("now"); got != "mnow" {
		t.Error(got)
	}
	for _, hostile := range []string{strings.Repeat("x", 1<<20), "a\nb", "\x00", "\xff"} {
		if got := WebhookID(hostile); len(got) != 66 || !strings.HasPrefix(got, "wh") {
			t.Errorf("%.20q: %q", hostile, got)
		}
	}
	if WebhookID("72d3162e-cc78-11e3-81ab-4c9367dc0958") != "w72d3162e-cc78-11e3-81ab-4c9367dc0958" {
		t.Error("the id of a delivery is changed")
	}
}

func TestRenderFillsTheTask(t *testing.T) {
	spec := v1beta1.AgentTriggerSpec{
		Webhook: &v1beta1.TriggerWebhook{When: "body.go"}, DedupKey: "body.n", User: "alice",
		Task: &v1beta1.TriggerTask{
			Role: "reviewer", Instruction: "Review {{ body.n }} of {{ trigger.namespace }}/{{ trigger.name }}.", SuccessCriteria: "{{ body.n }} is done.",
			Arguments: &runtime.RawExtension{Raw: []byte(`{"n":"{{ body.n }}"}`)}, OutputSchema: &runtime.RawExtension{Raw: []byte(`{"type":"object"}`)},
			Workspace:     &v1beta1.Workspace{Git: &v1beta1.GitSource{URL: "https://git.example.com/a", Ref: "{{body.sha}}"}},
			ModelProvider: "p", Model: "m", Limits: &v1beta1.TaskLimits{MaxIterations: new(int32(3))}, TTLSecondsAfterFinished: new(int32(9)),
		},
	}
	p, err := Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	f := Firing{ID: "w1", Input: expr.Input{Body: map[string]any{"n": int64(7), "sha": "abc", "go": true}}}
	f.FillTrigger(types.NamespacedName{Namespace: "ns", Name: "t"})
	if ok, err := p.Matches(t.Context(), f); err != nil || !ok {
		t.Errorf("%t, %v", ok, err)
	}
	if key, err := p.Key(t.Context(), f); err != nil || key != "7" {
		t.Errorf("key %q, %v", key, err)
	}
	kind, raw, err := p.Render(t.Context(), f)
	want := `{"type":"Agent","role":"reviewer","arguments":{"n":7},"instruction":"Review 7 of ns/t.","successCriteria":"7 is done.",` +
		`"limits":{"maxIterations":3},"modelProvider":"p","model":"m","workspace":{"git":{"url":"https://git.example.com/a","ref":"abc"}},"user":"alice",` +
		`"contentLabels":["untrusted"],"ttlSecondsAfterFinished":9,"outputSchema":{"type":"object"}}`
	if err != nil || kind != v1beta1.TargetTask || canonical(t, raw) != canonical(t, []byte(want)) {
		t.Errorf("%s (%v)\nwant %s", raw, err, want)
	}
	if p.spec.Task.Workspace.Git.Ref != "{{body.sha}}" {
		t.Error("rendering changed the template")
	}
	f.Manual, f.User = true, "bob"
	if _, raw, err = p.Render(t.Context(), f); err != nil || !strings.Contains(string(raw), `"user":"alice","fireUser":"bob"`) {
		t.Errorf("fired by bob: %s (%v)", raw, err)
	}
	f.User = "alice"
	if _, raw, err = p.Render(t.Context(), f); err != nil || !strings.Contains(string(raw), `"user":"alice"`) || strings.Contains(string(raw), `"fireUser"`) {
		t.Errorf("fired by the author: %s (%v)", raw, err)
	}
	f.User = ""
	if _, raw, err = p.Render(t.Context(), f); err != nil || strings.Contains(string(raw), `"user"`) {
		t.Errorf("fired by an unknown person: %s (%v)", raw, err)
	}
}

func canonical(t *testing.T, raw []byte) string {
	t.Helper()
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestContentLabelsOfAFiring(t *testing.T) {
	hook, timed := &v1beta1.TriggerWebhook{}, &v1beta1.TriggerSchedule{Cron: "0 0 1 1 *"}
	for name, c := range map[string]struct {
		spec v1beta1.AgentTriggerSpec
		want []v1beta1.ContentLabel
	}{
		"webhook":                  {v1beta1.AgentTriggerSpec{Webhook: hook}, []v1beta1.ContentLabel{"untrusted"}},
		"trusted webhook":          {v1beta1.AgentTriggerSpec{Webhook: hook, Trusted: true}, nil},
		"labelled webhook":         {v1beta1.AgentTriggerSpec{Webhook: hook, ContentLabels: []v1beta1.ContentLabel{"internal"}}, []v1beta1.ContentLabel{"untrusted", "internal"}},
		"webhook, untrusted twice": {v1beta1.AgentTriggerSpec{Webhook: hook, ContentLabels: []v1beta1.ContentLabel{"internal", "untrusted"}}, []v1beta1.ContentLabel{"internal", "untrusted"}},
		"schedule":                 {v1beta1.AgentTriggerSpec{Schedule: timed}, nil},
	} {
		if diff := cmp.Diff(c.want, (&Program{spec: c.spec}).contentLabels()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestRenderFillsTheMessage(t *testing.T) {
	p, err := Compile(v1beta1.AgentTriggerSpec{
		Watch:   &v1beta1.TriggerWatch{When: "object.a == 1 && oldObject == null"},
		Message: &v1beta1.TriggerMessage{Chat: "talk", Content: "Look at {{ object.a }}."}, User: "alice",
	})
	if err != nil {
		t.Fatal(err)
	}
	f := Firing{Input: expr.Input{Object: map[string]any{"a": int64(1)}}}
	if ok, err := p.Matches(t.Context(), f); err != nil || !ok {
		t.Errorf("%t, %v", ok, err)
	}
	kind, raw, err := p.Render(t.Context(), f)
	if want := `{"chat":"talk","role":"User","user":"alice","contentLabels":["untrusted"],"content":"Look at 1."}`; err != nil || kind != v1beta1.TargetMessage || string(raw) != want {
		t.Errorf("%s %s (%v), want %s", kind, raw, err, want)
	}
}

func TestCompileErrors(t *testing.T) {
	task := func(text string) *v1beta1.TriggerTask { return &v1beta1.TriggerTask{Role: "r", Instruction: text} }
	for name, c := range map[string]struct {
		spec v1beta1.AgentTriggerSpec
		want string
		cel  bool
	}{
		"when":      {v1beta1.AgentTriggerSpec{Watch: &v1beta1.TriggerWatch{When: "objekt.a"}, Task: task("x")}, "spec.watch.when: line 1, column 1: undeclared reference to 'objekt'", true},
		"the key":   {v1beta1.AgentTriggerSpec{Schedule: &v1beta1.TriggerSchedule{Cron: "@daily"}, DedupKey: "body", Task: task("x")}, "spec.dedupKey: line 1, column 1", true},
		"a text":    {v1beta1.AgentTriggerSpec{Schedule: &v1beta1.TriggerSchedule{Cron: "@daily"}, Task: task("a {{ x }}")}, "spec.task.instruction: {{ x }}: line 1, column 2", true},
		"selector":  {v1beta1.AgentTriggerSpec{Watch: &v1beta1.TriggerWatch{When: "true", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "-"}}}, Task: task("x")}, "spec.watch.selector: ", false},
		"the cron":  {v1beta1.AgentTriggerSpec{Schedule: &v1beta1.TriggerSchedule{Cron: "99 * * * *"}, Task: task("x")}, "spec.schedule.cron: ", false},
		"too many":  {v1beta1.AgentTriggerSpec{Schedule: &v1beta1.TriggerSchedule{Cron: "@daily"}, Task: task(strings.Repeat("{{ 1 }}", 65))}, "there are more than 64 expressions", true},
		"a message": {v1beta1.AgentTriggerSpec{Schedule: &v1beta1.TriggerSchedule{Cron: "@daily"}, Message: &v1beta1.TriggerMessage{Content: "{{"}}, "spec.message.content: {{ without }}", true},
	} {
		_, err := Compile(c.spec)
		var located *expr.Error
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, &located) != c.cel {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestTargetsAreCompressedAndBounded(t *testing.T) {
	random := make([]byte, 100<<10)
	state := uint32(1)
	for i := range random {
		state = state*1664525 + 1013904223
		random[i] = byte(state >> 24)
	}
	for name, c := range map[string]struct {
		target []byte
		fits   bool
	}{
		"short":          {[]byte(`{"a":1}`), true},
		"long":           {[]byte(strings.Repeat("Read this. ", 10_000)), true},
		"incompressible": {random, false},
		"very long":      {[]byte(strings.Repeat("a", maxUnpacked+1)), false},
	} {
		packed, err := pack(c.target)
		if (err == nil) != c.fits || len(packed) > maxTarget {
			t.Errorf("%s: %d bytes, %v", name, len(packed), err)
			continue
		}
		if back, err := Unpack(packed); c.fits && (err != nil || string(back) != string(c.target)) {
			t.Errorf("%s: does not come back: %v", name, err)
		}
	}
	for _, bad := range [][]byte{nil, []byte("%"), {0, 0, 0}} {
		if _, err := Unpack(bad); err == nil {
			t.Errorf("%q was unpacked", bad)
		}
	}
}

func TestReplayedRequestIsDuplicate(t *testing.T) {
	now := at("2026-01-01T00:00:00Z")
	f, work := Firing{ID: WebhookID("a"), Time: now}, Work{Kind: v1beta1.TargetTask, Target: []byte("{}")}
	decide := func(status v1beta1.AgentTriggerStatus, after time.Duration) (v1beta1.AgentTriggerStatus, Outcome) {
		next, decision := Decide(Identity{"t", "u"}, v1beta1.AgentTriggerSpec{}, status, now.Add(after), f, work)
		next.Pending, next.Active = nil, nil
		return next, decision.Outcome
	}
	fired, _ := decide(v1beta1.AgentTriggerStatus{}, 0)
	crowded := v1beta1.AgentTriggerStatus{}
	for i := range maxRecent / 2 {
		crowded.RecentKeys = append(crowded.RecentKeys, Hash(strconv.Itoa(i))+":"+strconv.FormatInt(now.Add(2*time.Hour).Unix(), 10))
	}
	crowded, _ = decide(crowded, 0)
	for name, c := range map[string]struct {
		status v1beta1.AgentTriggerStatus
		after  time.Duration
		want   Outcome
	}{
		"within a day": {fired, 23 * time.Hour, Duplicate}, "after a day": {fired, 25 * time.Hour, Fired},
		"many firings, within an hour": {crowded, 59 * time.Minute, Duplicate}, "many firings, later": {crowded, 61 * time.Minute, Fired},
	} {
		if _, got := decide(c.status, c.after); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestDecisions checks single decisions; the property tests check sequences.
func TestDecisions(t *testing.T) {
	type (
		spec   = v1beta1.AgentTriggerSpec
		status = v1beta1.AgentTriggerStatus
	)
	now := at("2026-01-01T00:00:00Z")
	webhook := func(id string) Firing { return Firing{ID: WebhookID(id), Time: now} }
	active := make([]string, MaxActive)
	latched := make([]string, MaxLatched)
	keys := make([]string, maxRecent-1)
	for i := range keys {
		keys[i] = Hash("other") + ":" + strconv.FormatInt(now.Add(time.Hour).Unix(), 10)
	}
	full := make([]v1beta1.PendingFiring, MaxPending)
	work := Work{Kind: v1beta1.TargetTask, Target: []byte("{}")}
	for name, c := range map[string]struct {
		spec   spec
		status status
		firing Firing
		work   Work
		want   Outcome
		reason v1beta1.DropReason
	}{
		"the first":            {spec{}, status{}, webhook("a"), work, Fired, ""},
		"suspended":            {spec{Suspend: true}, status{}, webhook("a"), work, Suspended, ""},
		"pending":              {spec{}, status{Pending: []v1beta1.PendingFiring{{ID: "wa"}}}, webhook("a"), work, Duplicate, ""},
		"pending is full":      {spec{}, status{Pending: full}, webhook("a"), work, Wait, ""},
		"the memory is full":   {spec{}, status{RecentKeys: keys}, webhook("a"), work, Wait, ""},
		"active and forbidden": {spec{ConcurrencyPolicy: v1beta1.ConcurrencyForbid}, status{Active: []string{"x"}}, webhook("a"), work, Dropped, v1beta1.DropActive},
		"active and allowed":   {spec{ConcurrencyPolicy: v1beta1.ConcurrencyAllow}, status{Active: []string{"x"}}, webhook("a"), work, Fired, ""},
		"active and replaced":  {spec{ConcurrencyPolicy: v1beta1.ConcurrencyReplace}, status{Active: []string{"x"}}, webhook("a"), work, Fired, ""},
		"too many active":      {spec{ConcurrencyPolicy: v1beta1.ConcurrencyAllow}, status{Active: active}, webhook("a"), work, Dropped, v1beta1.DropTooManyActive},
		"too large":            {spec{}, status{}, webhook("a"), Work{Target: make([]byte, maxUnpacked+1)}, Dropped, v1beta1.DropTooLarge},
		"latched":              {spec{}, status{Latched: []string{"h"}}, Firing{ID: "o1", Object: "h"}, work, Duplicate, ""},
		"latched and rearmed":  {spec{}, status{Latched: []string{"h"}}, Firing{ID: "o1", Object: "h", Rearmed: true}, work, Fired, ""},
		"too many objects":     {spec{}, status{Latched: latched}, Firing{ID: "o1", Object: "h"}, work, Dropped, v1beta1.DropTooManyObjects},
		"an old time":          {spec{}, status{LastScheduleTime: &metav1.Time{Time: now}}, Firing{ID: ScheduleID(now), Time: now}, work, Duplicate, ""},
	} {
		after, got := Decide(Identity{"t", "u"}, c.spec, c.status, now, c.firing, c.work)
		if got.Outcome != c.want || got.Reason != c.reason {
			t.Errorf("%s: %+v, want %s %s", name, got, c.want, c.reason)
		}
		if (got.Outcome == Dropped) != (after.Dropped == 1) || (got.Outcome == Dropped) != (after.LastDrop != nil && after.LastDrop.Message != "") {
			t.Errorf("%s: %d dropped, the last %+v", name, after.Dropped, after.LastDrop)
		}
	}
	if after := Unlatch(status{Latched: []string{"a", "b"}}, map[string]bool{"a": true, "c": true}); len(after.Latched) != 1 || after.Latched[0] != "b" {
		t.Errorf("%v", after.Latched)
	}
}
