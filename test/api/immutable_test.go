// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

type values = map[string]any

// immutableKinds are the kinds of which only some fields of spec can change. Each immutable field has two values to try.
var immutableKinds = []struct {
	kind string
	// spec has the fields that every object needs; with has what a certain field requires besides.
	spec   values
	with   map[string]values
	fields map[string][2]any
	// needed are required fields, and free those that can change.
	needed, free []string
}{
	{
		kind: "AgentTask",
		spec: values{"type": "Agent", "role": "coder", "instruction": "Work."},
		with: map[string]values{
			"tool": {"type": "Tool", "role": nil, "instruction": nil}, "group": {"chat": "c"}, "triggerMessage": {"chat": "c"},
			"userGroups": {"type": "Tool", "tool": "think", "user": "a", "role": nil, "instruction": nil},
		},
		fields: map[string][2]any{
			"type": {"Agent", "Tool"}, "chat": {"a", "b"}, "role": {"a", "b"}, "tool": {"think", "calculator"}, "instruction": {"a", "b"},
			"arguments": {values{"a": "1"}, values{"a": "2"}}, "contextFiles": {[]any{"a"}, []any{"b"}}, "successCriteria": {"a", "b"},
			"outputSchema": {values{"type": "object"}, values{"type": "object", "title": "b"}},
			"context":      {"Full", "Summary"}, "continueFrom": {"a", "b"}, "workingDir": {"a", "b"}, "user": {"a", "b"}, "triggerMessage": {"a", "b"}, "group": {"a", "b"},
			"userGroups": {[]any{"a"}, []any{"b"}}, "fireUser": {"a", "b"}, "contentLabels": {[]any{"a"}, []any{"b"}},
			"limits": {values{"maxIterations": int64(1)}, values{"maxIterations": int64(2)}}, "modelProvider": {"a", "b"}, "model": {"a", "b"},
			"workspace": {values{"emptyDir": values{}}, values{"persistentVolumeClaim": values{"claimName": "files"}}},
			"notify":    {notifying("a"), notifying("b")},
			"fork":      {values{"uid": "a", "task": "t"}, values{"uid": "b", "task": "t"}},
		},
		needed: []string{"type", "role", "tool", "instruction"},
		free:   []string{"cancel", "ttlSecondsAfterFinished"},
	},
	{
		kind: "SubAgent",
		spec: values{"task": "fixed", "role": "coder", "depth": int64(1), "instruction": "Work."},
		with: map[string]values{"parent": {"depth": int64(2)}, "depth": {"parent": "a"}},
		fields: map[string][2]any{
			"task": {"fixed", "other"}, "chat": {"a", "b"}, "role": {"a", "b"}, "depth": {int64(2), int64(3)}, "parent": {"a", "b"}, "instruction": {"a", "b"},
			"arguments": {values{"a": "1"}, values{"a": "2"}}, "contextFiles": {[]any{"a"}, []any{"b"}}, "successCriteria": {"a", "b"},
			"outputSchema": {values{"type": "object"}, values{"type": "object", "title": "b"}},
			"context":      {"Full", "Summary"}, "continueFrom": {"a", "b"}, "workingDir": {"a", "b"}, "modelProvider": {"a", "b"}, "model": {"a", "b"},
			"limits": {values{"maxIterations": int64(1)}, values{"maxIterations": int64(2)}}, "contentLabels": {[]any{"a"}, []any{"b"}},
		},
		needed: []string{"task", "role", "depth", "parent", "instruction"},
		free:   []string{"cancel"},
	},
}

// notifying returns receivers of notifications.
func notifying(secret string) []any {
	ref := values{"urlKeyRef": values{"name": secret, "key": "url"}}
	return []any{values{"on": []any{"Waiting"}, "slack": ref}}
}

var _ = Describe("Immutable fields", func() {
	for _, one := range immutableKinds {
		for field, tried := range one.fields {
			spec := func(value any) values {
				merged := maps.Clone(one.spec)
				maps.Copy(merged, one.with[field])
				merged[field] = value
				maps.DeleteFunc(merged, func(_ string, v any) bool { return v == nil })
				return merged
			}
			for name, statusFirst := range map[string]bool{"before": false, "after": true} {
				It("is "+field+" of a "+one.kind+" "+name+" it has a status", func(ctx SpecContext) {
					messages := MatchError(MatchRegexp(`spec(\.` + field + `)?: Invalid value`))
					change := func(from, to values) error { return respecify(ctx, one.kind, statusFirst, from, to) }
					Expect(change(spec(tried[0]), spec(tried[1]))).To(messages, "changed")
					if !slices.Contains(one.needed, field) {
						Expect(change(spec(nil), spec(tried[0]))).To(messages, "added")
						Expect(change(spec(tried[0]), spec(nil))).To(messages, "removed")
					}
				})
			}
		}

		It("is all of a "+one.kind+" but what is meant to", func() {
			for _, definition := range definitions() {
				if definition.Spec.Names.Kind != one.kind {
					continue
				}
				known := slices.Collect(maps.Keys(definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties))
				Expect(slices.Concat(slices.Collect(maps.Keys(one.fields)), one.free)).To(ConsistOf(known))
			}
		})
	}
})

// respecify creates an object with one spec and updates it with another.
func respecify(ctx context.Context, kind string, statusFirst bool, from, to values) error {
	GinkgoHelper()
	object := &unstructured.Unstructured{Object: values{"spec": maps.Clone(from)}}
	object.SetGroupVersionKind(v1beta1.GroupVersion.WithKind(kind))
	object.SetNamespace(newNamespace(ctx))
	object.SetName("fixed")
	Expect(api.Create(ctx, object)).To(Succeed())
	if statusFirst {
		object.Object["status"] = values{"phase": "Pending"}
		Expect(api.Status().Update(ctx, object)).To(Succeed())
	}
	object.Object["spec"] = maps.Clone(to)
	// The rules skip updates that change the status. An update of the object cannot change the status, so sending
	// another one must not help.
	object.Object["status"] = values{"phase": "Pending", "iterations": int64(7)}
	return api.Update(ctx, object)
}
