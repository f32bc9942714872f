// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// branching returns a schema of a few kilobytes in which each of n definitions refers twice to the next one.
func branching(n int) string {
	definitions := make([]string, 0, n+1)
	for i := range n {
		definitions = append(definitions, fmt.Sprintf(`"a%d":{"anyOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i, i+1, i+1))
	}
	definitions = append(definitions, fmt.Sprintf(`"a%d":{"required":["verdict"]}`, n))
	return `{"type":"object","$ref":"#/$defs/a0","$defs":{` + strings.Join(definitions, ",") + `}}`
}

func raw(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }

// expectOthersWork fails if the operator has died, or does not do the work of another namespace.
func (w *target) expectOthersWork(t *testing.T) {
	t.Helper()
	r := w.newNamespace(t)
	r.Eventually(r.runTask("other", v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, Role: "general", Instruction: "Submit all of it"})).Should(
		HavePrefix(string(v1beta1.TaskSuccess)))
	r.Expect(w.OperatorLog()).NotTo(ContainSubstring("out of memory"))
}

// schemaAttack is an attack with a schema: use creates what contains it, and returns its state. The work of others
// must continue.
func schemaAttack(name, attempts, stops, bad, good string, use func(r *testNamespace, schema string) func() string, refused, accepted string) attack {
	try := func(schema, want string) func(*testing.T, *target) {
		return func(t *testing.T, w *target) {
			r := w.newNamespace(t)
			r.Eventually(use(r, schema)).Should(ContainSubstring(want))
			w.expectOthersWork(t)
		}
	}
	return attack{name: name, attempt: attempts, defence: stops, run: try(bad, refused), control: try(good, accepted)}
}

func (r *testNamespace) createRole(name string, spec v1beta1.AgentRoleSpec) func() string {
	r.Create(&v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec})
	return func() string {
		var role v1beta1.AgentRole
		if err := r.Get(name, &role); err != nil {
			return err.Error()
		}
		return find(role.Status.Conditions, v1beta1.ConditionReady)
	}
}

func outputOfTask(r *testNamespace, schema string) func() string {
	return r.runTask("task", v1beta1.AgentTaskSpec{
		Type: v1beta1.TaskAgent, Role: "general", Instruction: `Submit data {"verdict":"approve"}`, OutputSchema: raw(schema),
	})
}

func outputOfRole(r *testNamespace, schema string) func() string {
	return r.createRole("strict", v1beta1.AgentRoleSpec{SystemPrompt: "You are strict.", OutputSchema: raw(schema)})
}

func inputOfRole(r *testNamespace, schema string) func() string {
	as := &v1beta1.RoleAsTool{Name: "judge", InputSchema: raw(schema)}
	return r.createRole("judge", v1beta1.AgentRoleSpec{SystemPrompt: "You judge.", AsTool: as})
}

// started is part of the state of a task with arguments once its agent exists.
const started = "has an agent"

// argumentsOfTask creates a task with arguments for a role whose schema is given; no model is needed for them to be
// checked.
func argumentsOfTask(arguments string) func(r *testNamespace, schema string) func() string {
	return func(r *testNamespace, schema string) func() string {
		inputOfRole(r, schema)
		task := r.runTask("task", v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, Role: "judge", Arguments: raw(arguments)})
		return func() string {
			if r.Get("task", &v1beta1.SubAgent{}) == nil {
				return started
			}
			return task()
		}
	}
}

func toolOfServer(r *testNamespace, schema string) func() string {
	return r.toolServer("foe", r.serve(&hostileServer{list: listing(`[{"name":"act","inputSchema":` + schema + `}]`)}))
}

// elicitedForm calls a tool whose server asks for input with a form.
func elicitedForm(r *testNamespace, schema string) func() string {
	asks := fmt.Sprintf(`{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"form","message":"Who?","requestedSchema":%s}}}}`, schema)
	f := &hostileServer{tools: []string{mcpTool("act", "Acts.", true)}, call: func(w http.ResponseWriter, id, _ json.RawMessage) { result(w, id, asks) }}
	r.Eventually(r.toolServer("foe", r.serve(f))).Should(Equal(ready))
	return r.callTool("call", "foe__act")
}

// doubling has two subschemas for each element of an array, which are the schema itself.
const doubling = `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"items":{"$ref":"#/$defs/a"},"contains":{"$ref":"#/$defs/a"}}}}`

func deepArrays(n int) string {
	return `{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
}

const tooComplex = "the schema is too complex"

var _ = class(
	"schemas",
	schemaAttack("an output schema of a task stops the operator", "a task has an outputSchema of 3 KB that branches 28 times",
		"a bound on the expanded size, checked when the task starts", branching(28), branching(6), outputOfTask,
		"Failed InvalidSpec spec.outputSchema: "+tooComplex, string(v1beta1.TaskSuccess)),
	schemaAttack("an output schema of a role stops the operator", "a role has an outputSchema that branches 28 times",
		"a bound on the expanded size, checked when the role arrives", branching(28), branching(6), outputOfRole,
		"False InvalidSpec: spec.outputSchema: "+tooComplex, "True Ready"),
	schemaAttack("an input schema of a role stops the operator", "a role has an asTool.inputSchema that branches 28 times",
		"a bound on the expanded size, checked when the role arrives", branching(28), branching(6), inputOfRole,
		"False InvalidSpec: spec.asTool.inputSchema: "+tooComplex, "True Ready"),
	schemaAttack("arguments of a task stop the operator", "a task has arguments for a role whose input schema branches 28 times",
		"a schema that is too complex allows nothing", branching(28), branching(6), argumentsOfTask(`{"verdict":"approve"}`),
		"Failed InvalidSpec spec.arguments do not fit the inputSchema of the role judge: "+tooComplex, started),
	attack{
		name:    "a value multiplies the work of a check",
		attempt: "a schema within the bounds applies twice to every element, and the arguments are arrays nested 40 deep",
		defence: "a bound on the steps of a check",
		run: func(t *testing.T, w *target) {
			r := w.newNamespace(t)
			r.Eventually(argumentsOfTask(deepArrays(40))(r, doubling)).Should(ContainSubstring(tooComplex + " for this value"))
			w.expectOthersWork(t)
		},
		control: func(t *testing.T, w *target) {
			r := w.newNamespace(t)
			arguments := `{"a":` + strings.Repeat("[", 5) + "1" + strings.Repeat("]", 5) + `}`
			r.Eventually(argumentsOfTask(arguments)(r, doubling)).Should(Equal(started))
			w.expectOthersWork(t)
		},
	},
	schemaAttack("a schema of a tool stops the operator", "an MCP server lists a tool whose inputSchema branches 28 times",
		"a bound on the expanded size: the tool is left out", branching(28), branching(6), toolOfServer,
		"True Ready: The server offers 0 tools. Left out: act: ", ready),
	schemaAttack("patterns of a tool fill the memory", "a tool has patterns whose repetitions are large",
		"a bound on the size of compiled patterns", `{"type":"object","properties":{"a":{"pattern":"(`+strings.Repeat("[a-z]", 300)+`){900}"}}}`,
		`{"type":"object","properties":{"a":{"pattern":"^[a-z]{1,63}$"}}}`, toolOfServer, "True Ready: The server offers 0 tools. Left out: act: ", ready),
	schemaAttack("the form of a tool stops the operator", "an MCP server asks for input with a form whose schema branches 28 times",
		"a bound on the expanded size, checked before the person is asked", branching(28), `{"type":"object","properties":{"name":{"type":"string"}}}`,
		elicitedForm, tooComplex, string(v1beta1.TaskWaiting)),
)
