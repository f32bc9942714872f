// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"fmt"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
)

// policies covers ToolPolicies: which calls agents may make.
func policies(w *world) {
	policy := func(ctx context.Context, r *testNamespace, rules ...v1beta1.PolicyRule) {
		GinkgoHelper()
		p := &v1beta1.ToolPolicy{ObjectMeta: named("writes"), Spec: v1beta1.ToolPolicySpec{Match: &v1beta1.PolicyMatch{Tools: []string{"box__*"}}, Rules: rules}}
		r.create(ctx, p)
		Eventually(func(ctx context.Context) (*v1beta1.ToolPolicy, error) {
			return fetch(ctx, r, "writes", &v1beta1.ToolPolicy{})
		}).WithContext(ctx).Should(HaveStatus(ContainSubstring("True ")))
	}
	people := v1beta1.PolicyRule{Name: "people", AllowWhen: "call.readOnly", Otherwise: v1beta1.OutcomeRequireApproval, Message: "A person decides about writes."}

	It("asks until a person was shown every rule, and denies what another rule denies", func(ctx context.Context) {
		r := w.newEmptyNamespace(ctx)
		second, third := people, people
		second.Name, third.Name = "second", "third"
		policy(ctx, r, people, second, third, v1beta1.PolicyRule{Name: "no-secrets", AllowWhen: "!call.arguments.path.endsWith('/secret')", Message: "Secrets are not for agents."})
		shown := func(rule string) v1beta1.WaitingRule {
			return v1beta1.WaitingRule{Policy: r.namespace + "/writes", Rule: rule, Message: people.Message}
		}
		call, path := waitForWrite(ctx, r)
		item := must(ctx, r.chat).Status.Waiting[0]
		Expect(item.PolicyRules).To(Equal([]v1beta1.WaitingRule{shown("people"), shown("second")}))
		Expect(item.PolicyRulesOmitted).To(BeEquivalentTo(1))
		Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Required by policy " + r.namespace + "/writes, rule people: A person decides about writes.")))
		r.create(ctx, MakeMessage("yes").Approve("chat-1", call).Obj())
		Eventually(r.chat).WithContext(ctx).Should(HaveField("Status.Waiting", ConsistOf(HaveField("PolicyRules", ConsistOf(shown("third"))))))
		Expect(w.tools.writeCount(path)()).To(BeZero())
		r.create(ctx, MakeMessage("yes-again").Approve("chat-1", must(ctx, r.chat).Status.Waiting[0].ToolCall).Obj())
		Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
		Expect(w.tools.writeCount(path)()).To(Equal(1))

		r.sendMessage(ctx, "secret", "Delegate to general: Write "+r.namespace+"/secret")
		Eventually(r.sub("chat-2")).WithContext(ctx).Should(HaveField("Status.ToolCalls", ContainElement(HaveField("Phase", v1beta1.ToolCallDenied))))
		Expect(w.tools.writeCount(r.namespace + "/secret")()).To(BeZero())
	})

	It("judges the arguments that a person wrote, and the tool gets exactly these", func(ctx context.Context) {
		r := w.newEmptyNamespace(ctx)
		role := MakeRole("general").Obj()
		role.Spec.Approval = &v1beta1.ApprovalPolicy{Editable: true}
		r.create(ctx, role)
		temporary := people
		temporary.Name, temporary.AllowWhen = "temporary", "!call.arguments.path.endsWith('/temporary')"
		policy(ctx, r, people, temporary, v1beta1.PolicyRule{Name: "no-secrets", AllowWhen: "!call.arguments.path.endsWith('/secret')", Message: "Secrets are not for agents."})
		call, path := waitForWrite(ctx, r)
		item := must(ctx, r.chat).Status.Waiting[0]
		Expect(item.Editable).To(BeTrue())
		edited := r.namespace + "/temporary"
		r.create(ctx, MakeMessage("other-path").Approve("chat-1", call).Digest(item.ArgumentsDigest).Arguments(`{"path": "`+edited+`"}`).Obj())
		// The rule was not shown: a person is asked about it, with the new arguments and their digest.
		Eventually(r.chat).WithContext(ctx).Should(HaveField("Status.Waiting", ConsistOf(And(
			HaveField("PolicyRules", ConsistOf(HaveField("Rule", "temporary"))), HaveField("ArgumentsDigest", agent.CallDigest("box__write", `{"path": "`+edited+`"}`))))))
		again := must(ctx, r.chat).Status.Waiting[0]
		r.create(ctx, MakeMessage("yes").Approve("chat-1", again.ToolCall).Digest(again.ArgumentsDigest).Obj())
		Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
		Expect(w.tools.writeCount(path)()).To(BeZero())
		Expect(w.tools.writeCount(edited)()).To(Equal(1))
		Expect(must(ctx, r.sub("chat-1")).Status.ToolCalls).To(ContainElement(HaveField("Result", ContainSubstring("The approver changed the arguments"))))

		r.sendMessage(ctx, "second", "Delegate to general: Write "+r.namespace+"/fine")
		Eventually(r.chat).WithContext(ctx).Should(HaveField("Status.Waiting", HaveLen(1)))
		item = must(ctx, r.chat).Status.Waiting[0]
		r.create(ctx, MakeMessage("secret").Approve("chat-2", item.ToolCall).Digest(item.ArgumentsDigest).Arguments(`{"path":"`+r.namespace+`/secret"}`).Obj())
		Eventually(r.sub("chat-2")).WithContext(ctx).Should(HaveField("Status.ToolCalls",
			ContainElement(And(HaveField("Phase", v1beta1.ToolCallDenied), HaveField("Error", ContainSubstring("Secrets are not for agents."))))))
		Expect(w.tools.writeCount(r.namespace + "/secret")()).To(BeZero())
	})

	It("lets a tree write as often as the starter policy says, over a kill of the operator, and then asks", func(ctx context.Context) {
		r := w.newEmptyNamespace(ctx)
		r.create(ctx, MakeProvider("default", r.ModelURL).Obj())
		r.addToolServer(ctx, MakeToolServer("box", r.tools.URL))
		writer := MakeRole("writer").Prompt("You write.").Allow("box__*").Obj()
		writer.Spec.Approval = &v1beta1.ApprovalPolicy{Mode: v1beta1.ApprovalNever}
		limit := &v1beta1.ToolPolicy{}
		Expect(yaml.UnmarshalStrict(must(ctx, func(context.Context) ([]byte, error) { return os.ReadFile("../../config/policies/write-limit.yaml") }), limit)).To(Succeed())
		limit.Namespace, limit.Spec.Namespaces = r.namespace, nil
		r.create(ctx, writer, MakeRole("lead").Prompt("You lead.").Delegates("writer").Obj(), limit)
		Eventually(func(ctx context.Context) (*v1beta1.ToolPolicy, error) {
			return fetch(ctx, r, limit.Name, &v1beta1.ToolPolicy{})
		}).WithContext(ctx).Should(HaveStatus(ContainSubstring("True ")))
		var tasks []string
		for i := range 6 { // 54 writes, and the policy allows 50
			tasks = append(tasks, fmt.Sprintf(`{"role":"writer","task":"Write nine files in %s/%d"}`, r.namespace, i))
		}
		r.create(ctx, MakeTask("work", "Spawn ["+strings.Join(tasks, ",")+"]").Role("lead").Obj())
		written := w.tools.writesBelow(r.namespace)
		for _, enough := range []int{10, 30} {
			Eventually(written).WithContext(ctx).Should(BeNumerically(">=", enough))
			Expect(w.Operator.Kill()).To(Succeed())
			Expect(w.StartOperator(ctx)).To(Succeed())
		}
		approved := map[string]bool{}
		Eventually(func(ctx context.Context) (*v1beta1.AgentTask, error) {
			for i := range 6 {
				name := fmt.Sprintf("work-%d", i+1)
				waiting := must(ctx, r.task(name)).Status.Waiting
				if waiting == nil || approved[name+waiting.ToolCall] {
					continue
				}
				if len(approved) == 0 {
					Expect(written()).To(BeNumerically("<=", 50))
				}
				Expect(waiting.PolicyRules).To(ConsistOf(HaveField("Rule", "writes-of-one-tree")))
				approved[name+waiting.ToolCall] = true
				r.create(ctx, MakeMessage(fmt.Sprintf("yes-%d", len(approved))).Task("work").Approve(name, waiting.ToolCall).Obj())
			}
			return r.task("work")(ctx)
		}).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
		Expect(approved).To(HaveLen(4), "a person decides about each write after the fiftieth, whether the operator was killed or not")
		Expect(written()).To(BeNumerically("<=", 54))
	})

	It("makes the tool task of a person wait, whatever roles the policy is about", func(ctx context.Context) {
		r := w.newEmptyNamespace(ctx)
		r.addToolServer(ctx, MakeToolServer("box", r.tools.URL))
		policy(ctx, r, people)
		path := r.namespace + "/direct"
		r.create(ctx, MakeToolTask("direct", "box__write", `{"path":"`+path+`"}`).Obj())
		Eventually(r.task("direct")).WithContext(ctx).Should(BeIn(v1beta1.TaskWaiting))
		Expect(must(ctx, r.task("direct")).Status.Waiting.PolicyRules).To(HaveLen(1))
		Expect(w.tools.writeCount(path)()).To(BeZero())
		r.create(ctx, MakeMessage("yes").Task("direct").Approve("direct", "").Obj())
		Eventually(r.task("direct")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
		Expect(w.tools.writeCount(path)()).To(Equal(1))
	})
}
