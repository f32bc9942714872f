// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package toolserver

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

// list returns a server's status with tools given as name=version.
func list(tools ...string) mcp.Status {
	status := mcp.Status{Ready: true, Digest: fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(strings.Join(tools, ","))))}
	for _, t := range tools {
		name, digest, _ := strings.Cut(t, "=")
		status.Tools = append(status.Tools, mcp.ToolStatus{Name: name, ReadOnly: true, Pin: mcp.PinName(name), Digest: digest})
	}
	return status
}

// formatStatus formats a status: the offered tools, with a star if their hints count, and the withheld ones in brackets.
func formatStatus(object *v1beta1.ToolServer) string {
	var parts []string
	for _, t := range object.Status.Tools {
		word := t.Name
		if t.Withheld {
			word = "(" + word + ")"
		}
		if t.ReadOnly {
			word += "*"
		}
		parts = append(parts, word)
	}
	c := meta.FindStatusCondition(object.Status.Conditions, v1beta1.ConditionToolsChanged)
	return strings.Join(append(parts, c.Reason), " ")
}

func TestToolsArePinned(t *testing.T) {
	object := &v1beta1.ToolServer{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "lab"}, Spec: v1beta1.ToolServerSpec{URL: "https://lab"}}
	for _, step := range []struct {
		name   string
		change func()
		list   mcp.Status
		want   string
	}{
		{"the first list is pinned", nil, list("a=1", "b=1"), "a* b* ToolsAsPinned"},
		{"the same list again", nil, list("a=1", "b=1"), "a* b* ToolsAsPinned"},
		{"a tool changes", nil, list("a=1", "b=2"), "a* (b) ToolsWithheld"},
		{"it stays withheld", nil, list("a=1", "b=2"), "a* (b) ToolsWithheld"},
		{"it changes back", nil, list("a=1", "b=1"), "a* b* ToolsAsPinned"},
		{"a tool is added: it has no hints", nil, list("a=1", "b=1", "c=1"), "a* b* c ToolsAdded"},
		{"the added tool changes", nil, list("a=1", "b=1", "c=2"), "a* b* (c) ToolsWithheld"},
		{"a tool vanishes", nil, list("a=1"), "a* ToolsAsPinned"},
		{"it returns changed", nil, list("a=1", "b=3"), "a* (b) ToolsWithheld"},
		{"it returns unchanged", nil, list("a=1", "b=1"), "a* b* ToolsAsPinned"},
		{"another digest is accepted", func() { object.Spec.AcceptedToolsDigest = "sha256:other" }, list("a=2", "b=1"), "(a) b* ToolsWithheld"},
		{"the digest is accepted", func() { object.Spec.AcceptedToolsDigest = list("a=2", "b=1", "d=1").Digest }, list("a=2", "b=1", "d=1"), "a* b* d* ToolsAsPinned"},
		{"it does not accept later changes", nil, list("a=3", "b=1", "d=1"), "(a) b* d* ToolsWithheld"},
		{"a previously accepted version is withheld too", nil, list("a=1", "b=1", "d=1"), "(a) b* d* ToolsWithheld"},
		{"another field changes nothing", func() { object.Generation++; object.Spec.TimeoutSeconds = 9 }, list("a=3", "b=1"), "(a) b* ToolsWithheld"},
		{"another endpoint is pinned again", func() { object.Spec.URL = "https://other" }, list("a=3", "b=4"), "a* b* ToolsAsPinned"},
	} {
		if step.change != nil {
			step.change()
		}
		Pin(object, step.list)
		if got := formatStatus(object); got != step.want {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
	}
}

func TestServerWithoutToolsIsPinned(t *testing.T) {
	object := &v1beta1.ToolServer{}
	if _, pinned := Pins(object); pinned {
		t.Error("it is pinned before it was listed")
	}
	Pin(object, list())
	Pin(object, list("a=1"))
	if got := formatStatus(object); got != "a ToolsAdded" {
		t.Error(got)
	}
}

func TestPinsAreBounded(t *testing.T) {
	object := &v1beta1.ToolServer{}
	for round := range 4 {
		var tools []string
		for i := range 200 {
			tools = append(tools, fmt.Sprintf("%s-%d-%d=%064d", strings.Repeat("n", 100), round, i, i))
		}
		Pin(object, list(tools...))
	}
	if n := len(object.Status.Pins); n != mcp.MaxPins {
		t.Errorf("%d pins", n)
	}
	if slices.ContainsFunc(object.Status.Pins, func(p v1beta1.ToolPin) bool { return len(p.Name) > 64 }) {
		t.Error("a pin has a long name")
	}
	c := meta.FindStatusCondition(object.Status.Conditions, v1beta1.ConditionToolsChanged)
	if c.Status != metav1.ConditionTrue || len(c.Message) > 1024 {
		t.Errorf("condition %+v", c)
	}
}

func TestMessageExplainsHowToAccept(t *testing.T) {
	object := &v1beta1.ToolServer{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "lab"}}
	Pin(object, list("a=1"))
	Pin(object, list("a=2"))
	c := meta.FindStatusCondition(object.Status.Conditions, v1beta1.ConditionToolsChanged)
	for _, parts := range []string{"pinned: a.", `kubectl patch toolserver lab --namespace team --type merge --patch '{"spec":{"acceptedToolsDigest":"` + list("a=2").Digest + `"}}'`} {
		if !strings.Contains(c.Message, parts) {
			t.Errorf("%q lacks %q", c.Message, parts)
		}
	}
}
