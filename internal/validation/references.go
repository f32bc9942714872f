// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/tool"
)

// The kinds of references.
const (
	KindRole       = "AgentRole"
	KindProvider   = "ModelProvider"
	KindToolServer = "ToolServer"
	KindChat       = "AgentChat"
)

// New returns an empty object of a kind that is judged, or nil.
func New(kind string) runtime.Object {
	switch kind {
	case KindRole:
		return &v1beta1.AgentRole{}
	case KindProvider:
		return &v1beta1.ModelProvider{}
	case KindChat:
		return &v1beta1.AgentChat{}
	case "AgentTask":
		return &v1beta1.AgentTask{}
	case "AgentTrigger":
		return &v1beta1.AgentTrigger{}
	case "ToolPolicy":
		return &v1beta1.ToolPolicy{}
	}
	return nil
}

// Reference is a name in the spec of an object.
type Reference struct{ Field, Kind, Name string }

// Glob is a tool's name, or a pattern of names, in the spec of an object.
type Glob struct{ Field, Pattern string }

// References returns what an object refers to, each place once. A role may refer to itself.
func References(object runtime.Object) []Reference {
	var list references
	switch o := object.(type) {
	case *v1beta1.AgentChat:
		list.add("spec.role", KindRole, o.Spec.Role)
		list.add("spec.modelProvider", KindProvider, o.Spec.ModelProvider)
	case *v1beta1.AgentTask:
		list.add("spec.chat", KindChat, o.Spec.Chat)
		list.add("spec.role", KindRole, o.Spec.Role)
		list.add("spec.modelProvider", KindProvider, o.Spec.ModelProvider)
	case *v1beta1.AgentTrigger:
		if task := o.Spec.Task; task != nil {
			list.add("spec.task.role", KindRole, task.Role)
			list.add("spec.task.modelProvider", KindProvider, task.ModelProvider)
		}
		if message := o.Spec.Message; message != nil {
			list.add("spec.message.chat", KindChat, message.Chat)
		}
	case *v1beta1.ToolPolicy:
		if o.Spec.Match != nil && !appliesElsewhere(o) {
			list.add("spec.match.roles", KindRole, o.Spec.Match.Roles...)
		}
	case *v1beta1.ModelProvider:
		list.add("spec.fallbacks", KindProvider, o.Spec.Fallbacks...)
	case *v1beta1.AgentRole:
		list.add("spec.modelProvider", KindProvider, o.Spec.ModelProvider)
		if o.Spec.Delegation != nil {
			list.add("spec.delegation.roles", KindRole, o.Spec.Delegation.Roles...)
		}
		if o.Spec.Review != nil {
			list.add("spec.review.role", KindRole, o.Spec.Review.Role)
		}
		list = slices.DeleteFunc(list, func(r Reference) bool { return r.Kind == KindRole && r.Name == o.Name })
	}
	for _, glob := range Globs(object) {
		if server, ok := tool.ServerOf(glob.Pattern); ok {
			list.add(glob.Field, KindToolServer, server)
		}
	}
	return list
}

// Globs returns the tools and the patterns of tools that an object names.
func Globs(object runtime.Object) []Glob {
	var list []Glob
	add := func(field string, patterns ...string) {
		for _, pattern := range patterns {
			list = append(list, Glob{field, pattern})
		}
	}
	switch o := object.(type) {
	case *v1beta1.AgentTask:
		if o.Spec.Tool != "" {
			add("spec.tool", o.Spec.Tool)
		}
	case *v1beta1.ToolPolicy:
		if o.Spec.Match != nil && !appliesElsewhere(o) {
			add("spec.match.tools", o.Spec.Match.Tools...)
		}
	case *v1beta1.AgentRole:
		if o.Spec.Tools != nil {
			add("spec.tools.allow", o.Spec.Tools.Allow...)
			add("spec.tools.deny", o.Spec.Tools.Deny...)
		}
		if o.Spec.Approval != nil {
			add("spec.approval.tools", o.Spec.Approval.Tools...)
		}
	}
	return list
}

// appliesElsewhere reports whether a policy may be about tools and roles of other namespaces.
func appliesElsewhere(p *v1beta1.ToolPolicy) bool {
	return p.Spec.Namespaces != nil && p.Spec.Namespaces.From != v1beta1.NamespacesSame
}

type references []Reference

func (l *references) add(field, kind string, names ...string) {
	for _, name := range names {
		if r := (Reference{field, kind, name}); name != "" && !slices.Contains(*l, r) {
			*l = append(*l, r)
		}
	}
}
