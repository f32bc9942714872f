// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/kube"
)

func startedAs(t *testing.T, user string, r Request) *v1beta1.AgentTask {
	t.Helper()
	task, err := (&Caller{User: user}).task(r)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func TestNameOfAKey(t *testing.T) {
	base := Request{Namespace: "team-a", Role: "reviewer", Instruction: "Review it.", Key: "1"}
	first := startedAs(t, "alice", base)
	if again := startedAs(t, "alice", base); again.Name != first.Name {
		t.Errorf("the same key gives %s and %s", first.Name, again.Name)
	}
	names := map[string]string{first.Name: "the first request"}
	for _, tc := range []struct {
		name, user string
		change     func(*Request)
	}{
		{"another user", "bob", func(*Request) {}},
		{"another namespace", "alice", func(r *Request) { r.Namespace = "team-b" }},
		{"another role", "alice", func(r *Request) { r.Role = "writer" }},
		{"another key", "alice", func(r *Request) { r.Key = "2" }},
		{"no key", "alice", func(r *Request) { r.Key = "" }},
		{"no key again", "alice", func(r *Request) { r.Key = "" }},
	} {
		request := base
		tc.change(&request)
		name := startedAs(t, tc.user, request).Name
		if other, ok := names[name]; ok {
			t.Errorf("%s has the name of %s: %s", tc.name, other, name)
		}
		names[name] = tc.name
	}
}

// TestNameSeparatesItsParts moves characters between parts that are next to each other.
func TestNameSeparatesItsParts(t *testing.T) {
	c := &Caller{User: "u"}
	for _, pair := range [][2]string{
		{c.name("x", "ab", "c", "k"), c.name("x", "a", "bc", "k")},
		{c.name("x", "a", "b1", "k"), c.name("x", "a", "b", "1k")},
		{(&Caller{User: "ua"}).name("x", "b", "c", "k"), (&Caller{User: "u"}).name("x", "ab", "c", "k")},
	} {
		if pair[0] == pair[1] {
			t.Errorf("two requests have the name %s", pair[0])
		}
	}
}

func TestNameIsALabel(t *testing.T) {
	for _, role := range []string{"a", "reviewer", strings.Repeat("a", 63), strings.Repeat("a", 29) + "-b", strings.Repeat("a", 20) + strings.Repeat("-", 20) + "b", "0"} {
		for _, key := range []string{"", "1", strings.Repeat("ü", maxKey/2)} {
			name := startedAs(t, "system:serviceaccount:team-a:alice", Request{Namespace: "team-a", Role: role, Key: key}).Name
			if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
				t.Errorf("role %s, key %q: %s: %v", role, key, name, problems)
			}
			if !strings.HasPrefix(name, role[:1]) {
				t.Errorf("%s does not begin with the role %s", name, role)
			}
		}
	}
}

func TestLongKeysAreRefused(t *testing.T) {
	_, err := (&Caller{User: "alice"}).task(Request{Namespace: "team-a", Role: "reviewer", Key: strings.Repeat("k", maxKey+1)})
	if !apierrors.IsBadRequest(err) {
		t.Errorf("a long key: %v", err)
	}
}

// TestRequestDigest checks that a key with another request is noticed.
func TestRequestDigest(t *testing.T) {
	base := Request{Namespace: "team-a", Role: "reviewer", Instruction: "Review it.", Key: "1"}
	digest := func(r Request) string { return startedAs(t, "alice", r).Annotations[v1beta1.AnnotationRequest] }
	if first, again := digest(base), digest(base); first == "" || first != again {
		t.Errorf("the digests of one request are %q and %q", first, again)
	}
	for name, change := range map[string]func(*Request){
		"instruction": func(r *Request) { r.Instruction = "Review it again." },
		"arguments":   func(r *Request) { r.Arguments = []byte(`{"a":1}`) },
		"model":       func(r *Request) { r.Model = "large" },
		"memory":      func(r *Request) { r.ContinueFrom = "reviewer-1" },
	} {
		other := base
		change(&other)
		if digest(other) == digest(base) {
			t.Errorf("another %s has the same digest", name)
		}
	}
}

func TestTasksBelongToCaller(t *testing.T) {
	named := func(name, user, conversation string) *v1beta1.AgentTask {
		task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: name, Labels: map[string]string{v1beta1.LabelConversation: conversation},
		}}
		task.Spec.User = user
		return task
	}
	api := fake.NewClientBuilder().WithScheme(kube.NewScheme()).
		WithObjects(named("own", "alice", "c"), named("planted", "mallory", "c"), named("nobody", "", "c"), named("other", "alice", "d")).Build()
	c := &Caller{User: "alice", API: api}
	tasks, err := c.Tasks(t.Context(), "a", labels.SelectorFromSet(labels.Set{v1beta1.LabelConversation: "c"}))
	if err != nil || len(tasks) != 1 || tasks[0].Name != "own" {
		t.Errorf("%d tasks, %v: %v", len(tasks), err, tasks)
	}
}
