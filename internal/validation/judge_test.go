// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/validation"
)

func raw(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }

func role(edit func(*v1beta1.AgentRoleSpec)) *v1beta1.AgentRole {
	r := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Name: "poet"}}
	edit(&r.Spec)
	return r
}

func scheduled(cron string, edit func(*v1beta1.AgentTriggerSpec)) *v1beta1.AgentTrigger {
	t := &v1beta1.AgentTrigger{Spec: v1beta1.AgentTriggerSpec{
		Schedule: &v1beta1.TriggerSchedule{Cron: cron}, Task: &v1beta1.TriggerTask{Role: "general", Instruction: "Work."},
	}}
	if edit != nil {
		edit(&t.Spec)
	}
	return t
}

const hourly = "0 * * * *"

func TestRefusalNamesField(t *testing.T) {
	large := fmt.Sprintf(`{"type":"object","description":%q}`, strings.Repeat("x", 16<<10))
	for name, c := range map[string]struct {
		object         runtime.Object
		field, message string // empty if it is accepted
	}{
		"a schedule":          {object: scheduled(hourly, nil)},
		"too few cron fields": {scheduled("0 7", nil), "spec.schedule.cron", "spec.schedule.cron: expected exactly 5 fields"},
		"a day that does not exist": {scheduled("0 0 31 2 *", nil), "spec.schedule.cron",
			`spec.schedule.cron: "0 0 31 2 *" has no time: the day does not exist`},
		"an unknown time zone": {scheduled(hourly, func(s *v1beta1.AgentTriggerSpec) { s.Schedule.TimeZone = "Mars/Olympus" }),
			"spec.schedule.timeZone", `spec.schedule.timeZone: "Mars/Olympus" is not a known time zone`},
		"a condition that does not parse": {scheduled(hourly, func(s *v1beta1.AgentTriggerSpec) {
			s.Schedule, s.Watch = nil, &v1beta1.TriggerWatch{APIVersion: "v1", Kind: "Pod", When: "object.status.phase =="}
		}), "spec.watch.when", "spec.watch.when: line 1, column"},
		"a template with an unknown variable": {scheduled(hourly, func(s *v1beta1.AgentTriggerSpec) { s.Task.Instruction = "Look at {{ body.id }}." }),
			"spec.task.instruction", "spec.task.instruction: {{ body.id }}: line 1, column 2: undeclared reference"},
		"a selector": {scheduled(hourly, func(s *v1beta1.AgentTriggerSpec) {
			s.Schedule, s.Watch = nil, &v1beta1.TriggerWatch{APIVersion: "v1", Kind: "Pod", When: "true", Selector: &metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}}
		}), "spec.watch.selector", "spec.watch.selector: "},
		"the schema of a trigger's tasks": {scheduled(hourly, func(s *v1beta1.AgentTriggerSpec) { s.Task.OutputSchema = raw(`{"type":"array"}`) }),
			"spec.task.outputSchema", "spec.task.outputSchema: the schema must have type object"},
		"a schema beyond its bound": {role(func(s *v1beta1.AgentRoleSpec) { s.OutputSchema = raw(large) }),
			"spec.outputSchema", "spec.outputSchema: it has 16"},
		"an input schema that does not compile": {role(func(s *v1beta1.AgentRoleSpec) {
			s.AsTool = &v1beta1.RoleAsTool{Name: "write", InputSchema: raw(`{"type":"object","properties":{"n":{"type":"nmber"}}}`)}
		}), "spec.asTool.inputSchema", "spec.asTool.inputSchema: "},
		"the schema of a task": {&v1beta1.AgentTask{Spec: v1beta1.AgentTaskSpec{OutputSchema: raw(`{"type":"object","properties":{"n":{"pattern":"(?=a)"}}}`)}},
			"spec.outputSchema", "spec.outputSchema: the pattern"},
		"a schema": {object: role(func(s *v1beta1.AgentRoleSpec) {
			s.OutputSchema = raw(`{"type":"object","properties":{"n":{"type":"number"}}}`)
		})},
		"a policy with a field that does not exist": {&v1beta1.ToolPolicy{Spec: v1beta1.ToolPolicySpec{Rules: []v1beta1.PolicyRule{
			{Name: "fine", AllowWhen: "call.readOnly"}, {Name: "misspelt", AllowWhen: "call.readonly"}}}},
			"spec.rules[1].allowWhen", "spec.rules[1].allowWhen: line 1, column 5: undefined field 'readonly'"},
		"a chat":  {object: &v1beta1.AgentChat{}},
		"nothing": {},
	} {
		t.Run(name, func(t *testing.T) {
			got := validation.Judge(c.object, nil, validation.Catalog{})
			if c.field == "" && len(got.Errors) > 0 {
				t.Fatalf("it is refused: %v", got.Errors[0])
			}
			if c.field == "" {
				return
			}
			if len(got.Errors) != 1 || got.Errors[0].Field != c.field || !strings.HasPrefix(got.Errors[0].Error(), c.message) {
				t.Errorf("got %v, want %s", got.Errors, c.message)
			}
			if len(got.Warnings) > 0 {
				t.Errorf("without a catalog there are warnings: %q", got.Warnings)
			}
		})
	}
}

// TestOldErrorsPermitUpdates: a trigger that was created while no operator answered must be suspended first, not repaired first.
func TestIsolatedRoleNeedsClosedSchema(t *testing.T) {
	for properties, want := range map[string]string{
		`{"spam":{"type":"boolean"}}`: "",
		`{"note":{"type":"string"}}`:  "the property note: it must be a boolean, an enum",
	} {
		schema := `{"type":"object","additionalProperties":false,"properties":` + properties + `}`
		isolated := role(func(s *v1beta1.AgentRoleSpec) {
			s.Isolated, s.OutputSchema = true, &runtime.RawExtension{Raw: []byte(schema)}
		})
		v := validation.Judge(isolated, nil, validation.Catalog{})
		if (len(v.Errors) > 0) != (want != "") || want != "" && !strings.Contains(v.Errors[0].Error(), want) {
			t.Errorf("%s: the errors are %v, want %q", properties, v.Errors, want)
		}
	}
}

func TestOldErrorsPermitUpdates(t *testing.T) {
	bad, suspended := scheduled("0 7", nil), scheduled("0 7", func(s *v1beta1.AgentTriggerSpec) { s.Suspend = true })
	v := validation.Judge(suspended, bad, validation.Catalog{})
	if len(v.Errors) > 0 || len(v.Warnings) != 1 || !strings.HasPrefix(v.Warnings[0], "spec.schedule.cron: ") {
		t.Errorf("suspended: %+v", v)
	}
	if v := validation.Judge(scheduled("0 8", nil), bad, validation.Catalog{}); len(v.Errors) != 1 {
		t.Errorf("another bad schedule is accepted: %+v", v)
	}
	if v := validation.Judge(bad, scheduled(hourly, nil), validation.Catalog{}); len(v.Errors) != 1 {
		t.Errorf("a schedule that becomes bad is accepted: %+v", v)
	}
	if v := validation.Judge(scheduled(hourly, nil), bad, validation.Catalog{}); len(v.Errors)+len(v.Warnings) > 0 {
		t.Errorf("the repair: %+v", v)
	}
}

func TestMissingReferencesWarn(t *testing.T) {
	provider := func(r *v1beta1.AgentRoleSpec) { r.ModelProvider = "home" }
	for name, c := range map[string]struct {
		object runtime.Object
		want   []validation.Reference
	}{
		"a chat": {&v1beta1.AgentChat{Spec: v1beta1.AgentChatSpec{Role: "lead", ModelProvider: "home"}},
			[]validation.Reference{{"spec.role", "AgentRole", "lead"}, {"spec.modelProvider", "ModelProvider", "home"}}},
		"a task": {&v1beta1.AgentTask{Spec: v1beta1.AgentTaskSpec{Role: "poet", ModelProvider: "home", Chat: "talk"}},
			[]validation.Reference{{"spec.chat", "AgentChat", "talk"}, {"spec.role", "AgentRole", "poet"}, {"spec.modelProvider", "ModelProvider", "home"}}},
		"a task of a tool": {&v1beta1.AgentTask{Spec: v1beta1.AgentTaskSpec{Tool: "github__create_issue"}},
			[]validation.Reference{{"spec.tool", "ToolServer", "github"}}},
		"a trigger with a task": {scheduled(hourly, func(s *v1beta1.AgentTriggerSpec) { s.Task.ModelProvider = "home" }),
			[]validation.Reference{{"spec.task.role", "AgentRole", "general"}, {"spec.task.modelProvider", "ModelProvider", "home"}}},
		"a trigger with a message": {scheduled(hourly, func(s *v1beta1.AgentTriggerSpec) {
			s.Task, s.Message = nil, &v1beta1.TriggerMessage{Chat: "talk", Content: "Hello"}
		}), []validation.Reference{{"spec.message.chat", "AgentChat", "talk"}}},
		"a provider": {&v1beta1.ModelProvider{Spec: v1beta1.ModelProviderSpec{Fallbacks: []string{"one", "two"}}},
			[]validation.Reference{{"spec.fallbacks", "ModelProvider", "one"}, {"spec.fallbacks", "ModelProvider", "two"}}},
		"a policy": {&v1beta1.ToolPolicy{Spec: v1beta1.ToolPolicySpec{Match: &v1beta1.PolicyMatch{Tools: []string{"github__*"}, Roles: []string{"poet"}}}},
			[]validation.Reference{{"spec.match.roles", "AgentRole", "poet"}, {"spec.match.tools", "ToolServer", "github"}}},
		"a role": {role(provider), []validation.Reference{{"spec.modelProvider", "ModelProvider", "home"}}},
		"a role that delegates, to itself too": {role(func(s *v1beta1.AgentRoleSpec) {
			s.Delegation, s.Review = &v1beta1.Delegation{Roles: []string{"poet", "critic"}}, &v1beta1.ResultReview{Role: "critic"}
		}), []validation.Reference{{"spec.delegation.roles", "AgentRole", "critic"}, {"spec.review.role", "AgentRole", "critic"}}},
		"a role with tool servers": {role(func(s *v1beta1.AgentRoleSpec) {
			s.Tools = &v1beta1.RoleTools{Allow: []string{"read", "github__a", "github__b", "*__look"}, Deny: []string{"github__c"}}
			s.Approval = &v1beta1.ApprovalPolicy{Tools: []string{"box__*"}}
		}), []validation.Reference{{"spec.tools.allow", "ToolServer", "github"}, {"spec.tools.deny", "ToolServer", "github"}, {"spec.approval.tools", "ToolServer", "box"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, validation.References(c.object)); diff != "" {
				t.Fatalf("references (-want +got):\n%s", diff)
			}
			catalog := validation.Catalog{Missing: map[validation.Reference]string{}, Tools: []string{"read", "x__look"}}
			var warnings []string
			for _, r := range c.want {
				catalog.Missing[r] = "Create " + r.Name + "."
				warnings = append(warnings, r.Field+": Create "+r.Name+".")
			}
			v := validation.Judge(c.object, nil, catalog)
			if diff := cmp.Diff(warnings, v.Warnings); diff != "" || len(v.Errors) > 0 {
				t.Errorf("errors %v, warnings (-want +got):\n%s", v.Errors, diff)
			}
		})
	}
}

func TestGlobsThatMatchNothingWarn(t *testing.T) {
	catalog := validation.Catalog{Tools: []string{"calculator", "read", "github__create_issue", "github__read"}, Unlisted: []string{"late"}}
	for glob, matches := range map[string]bool{
		"read": true, "rea?": true, "*": true, "github__*": true, "*__read": true, "git*": true,
		"late__anything": true, "l*__x": true, "other*": true, // the tools of late are not known
		"reed": false, "github__delete": false, "gitlab__*": false, "o*__read": false,
	} {
		v := validation.Judge(role(func(s *v1beta1.AgentRoleSpec) { s.Tools = &v1beta1.RoleTools{Allow: []string{glob}} }), nil, catalog)
		var want []string
		if !matches {
			want = []string{fmt.Sprintf("spec.tools.allow: %q matches no tool.", glob)}
		}
		if diff := cmp.Diff(want, v.Warnings); diff != "" || len(v.Errors) > 0 {
			t.Errorf("%s: errors %v, warnings (-want +got):\n%s", glob, v.Errors, diff)
		}
	}
}

func TestWarningsAreBounded(t *testing.T) {
	var names []string
	missing := map[validation.Reference]string{}
	for i := range 32 {
		name := fmt.Sprintf("%s%d", strings.Repeat("a", 60), i)
		names = append(names, name)
		missing[validation.Reference{Field: "spec.delegation.roles", Kind: "AgentRole", Name: name}] = strings.Repeat("Create it. ", 100)
	}
	v := validation.Judge(role(func(s *v1beta1.AgentRoleSpec) { s.Delegation = &v1beta1.Delegation{Roles: names} }), nil, validation.Catalog{Missing: missing})
	if len(v.Warnings) != 9 || v.Warnings[8] != "and 24 more problems" {
		t.Errorf("%d warnings, the last is %q", len(v.Warnings), v.Warnings[len(v.Warnings)-1])
	}
	for _, w := range v.Warnings {
		if len(w) > 256 {
			t.Errorf("the API server cuts a warning of %d bytes", len(w))
		}
	}
}
