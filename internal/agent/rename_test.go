// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// NameTaken renames one child or one post and changes nothing else.
func takenNameRenamesOnce(t *rapid.T) func(step) {
	return func(s step) {
		f, ok := s.event.Fact.(NameTaken)
		if !ok {
			return
		}
		if late := apply(s.before, Event{At: s.event.At, Fact: Woke{}}); !late.UnchangedSince(s.before) {
			return // the time of the event alone changes the state
		}
		name := AddSuffix(f.Name, f.Suffix)
		switch s.nameTakenOf() {
		case "post":
			checkRenamedPost(t, s, f, name)
		case "child":
			checkRenamedChild(t, s, f, name)
		default:
			if len(s.effects) > 0 {
				t.Fatalf("%v changed nothing but led to %v", f, s.effects)
			}
		}
	}
}

// nameTakenOf returns what a NameTaken has renamed: a child, a post or nothing. It is empty for other events.
func (s step) nameTakenOf() string {
	f, ok := s.event.Fact.(NameTaken)
	switch {
	case !ok:
		return ""
	case s.before.UnchangedSince(s.after):
		return "nothing"
	case f.Item != "":
		return "post"
	}
	return "child"
}

func checkRenamedChild(t *rapid.T, s step, f NameTaken, name string) {
	before, after := s.before, s.after
	i := before.Children.find(f.Name)
	want := []string{"start/" + name}
	if before.Children.Live[i].Queued {
		want = []string{} // a queued child starts later under the new name
	}
	if got := keysOf(s.effects); !slices.Equal(got, want) {
		t.Fatalf("renaming %s leads to %v, want %v", f.Name, got, want)
	}
	if before.ChildOrigin(f.Name) != after.ChildOrigin(name) || before.Children.Live[i].Group != after.Children.Live[i].Group {
		t.Fatalf("renaming %s lost its origin", f.Name)
	}
	for _, use := range []Fact{NameTaken{Name: f.Name, Suffix: f.Suffix}, ChildFinished{Child: f.Name, Outcome: Outcome{Result: &Result{}}}, ChildWaits{Child: f.Name, Waiting: true}} {
		if next, effects := Step(after, Event{At: after.Clock.Now, Fact: use}); len(effects) > 0 || withoutClock(next) != withoutClock(after) {
			t.Fatalf("%s of the old name %s still has an effect", FactType(use), f.Name)
		}
	}
	// The model uses the old name and people the new one: both must work for a cancel.
	if got := after.Children.currentName(after.Children.Live[i].OriginalName); got != name {
		t.Fatalf("the old name %s resolves to %q, want %q", f.Name, got, name)
	}
	cancelled := after
	cancelled.Children = after.Children.cancel(func(c Child) bool { return c.Name == name })
	if !slices.Contains(keysOf(Outstanding(cancelled)), "cancel/"+name) {
		t.Fatalf("%s cannot be cancelled", name)
	}
	finished := apply(after, Event{At: after.Clock.Now, Fact: ChildFinished{Child: name, Outcome: Outcome{Result: &Result{Text: "done"}}}})
	if finished.Children.Finished != after.Children.Finished+1 {
		t.Fatalf("the end of %s is not recorded", name)
	}
}

func checkRenamedPost(t *rapid.T, s step, f NameTaken, name string) {
	if got := keysOf(s.effects); !slices.Equal(got, []string{"deliver/" + f.Item + "/" + name}) {
		t.Fatalf("renaming a post led to %v, want only its sending as %s", got, name)
	}
	i := slices.IndexFunc(s.after.Outbox, func(item Item) bool { return item.ID == f.Item })
	if got := s.after.Outbox[i].PostName(s.after.Config.Name); got != name {
		t.Fatalf("the post is called %q, want %q", got, name)
	}
	again, _ := Step(s.after, Event{At: s.after.Clock.Now, Fact: f})
	if withoutClock(again) != withoutClock(s.after) {
		t.Fatal("the same taken name renamed the post again")
	}
	again, _ = Step(s.after, Event{At: s.after.Clock.Now, Fact: ItemSent{ID: f.Item}})
	if len(again.Outbox) != len(s.after.Outbox)-1 {
		t.Fatal("a renamed post cannot be sent")
	}
}

// Child names are unique and fit into a label, also after renames.
func childNamesAreUniqueLabels(t *rapid.T) func(step) {
	return func(s step) {
		seen := map[string]bool{}
		for _, child := range s.after.Children.Live {
			if seen[child.Name] || s.after.Children.hasEnded(child.Name) {
				t.Fatalf("two children are called %s", child.Name)
			}
			if seen[child.Name] = true; len(child.Name) > maxName {
				t.Fatalf("the name %s has %d characters", child.Name, len(child.Name))
			}
		}
	}
}

func TestSuffixedNameFitsALabel(t *testing.T) {
	for _, name := range []string{"release-1", "a", strings.Repeat("a", 63), strings.Repeat("a", 56) + "-1", strings.Repeat("a", 250)} {
		got := AddSuffix(name, "x7k2p")
		if len(got) > maxName || !strings.HasSuffix(got, "-x7k2p") || strings.Contains(got, "--") {
			t.Errorf("%s with a suffix is %q", name, got)
		}
	}
	if got := AddSuffix("release-1", "x7k2p"); got != "release-1-x7k2p" {
		t.Errorf("got %q, want release-1-x7k2p", got)
	}
}

// A child that is cancelled, waits or has ended exists under its name, so NameTaken must not rename it.
func TestTakenNameOfExistingChild(t *testing.T) {
	s := State{Phase: PhaseIdle, Config: Config{Kind: Orchestrator, Name: "a"}}
	s.Children = s.Children.start(Group{ID: "g"}, 0, []ChildSpec{{Name: "a-1"}, {Name: "a-2"}, {Name: "a-3"}}, Child{})
	s.Children = s.Children.update(0, func(c *Child) { c.Cancel = true }).update(1, func(c *Child) { c.Waiting = true })
	s.Children, _ = s.Children.finish("a-3", Outcome{Result: &Result{}})
	for i := range 3 {
		fact := NameTaken{Name: fmt.Sprintf("a-%d", i+1), Suffix: "x7k2p"}
		if next, effects := Step(s, Event{Fact: fact}); len(effects) > 0 || withoutClock(next) != withoutClock(s) {
			t.Errorf("%+v changed the state", fact)
		}
	}
}
