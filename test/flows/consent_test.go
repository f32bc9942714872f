// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/intake"
	"github.com/nestor-dev/nestor/internal/login/logintest"
	"github.com/nestor-dev/nestor/internal/login/request"
	"github.com/nestor-dev/nestor/test/stack"
)

// pageURL is where people would reach the page.
const pageURL = "https://nestor.example.com"

// consent covers tool servers to which people log in.
func consent(w *world) {
	Describe("A tool server to which people log in", func() {
		var (
			issuer *logintest.Issuer
			page   *intake.Client
		)
		BeforeEach(func() {
			issuer = logintest.Start(GinkgoTB())
			var err error
			page, err = intake.NewClient(intake.Operator{URL: w.Intake.URL, CAFile: w.Intake.CAFile, TokenFile: filepath.Join(w.Dir, "gateway.token")})
			Expect(err).NotTo(HaveOccurred())
		})
		// begin is what the page does for a person who opens the link and consents.
		begin := func(ctx context.Context, r *testNamespace, person string) request.Answer {
			GinkgoHelper()
			began, err := page.Login(ctx, request.Request{Action: request.Begin, Person: person, Namespace: r.namespace, Server: "files", MayRead: true})
			Expect(err).NotTo(HaveOccurred())
			answer := issuer.Consent(GinkgoTB(), began.URL)
			return request.Answer{State: answer.Get("state"), Code: answer.Get("code"), Issuer: answer.Get("iss")}
		}
		logIn := func(ctx context.Context, r *testNamespace, person string) {
			GinkgoHelper()
			_, err := page.Login(ctx, request.Request{Action: request.Finish, Person: person, Answer: begin(ctx, r, person)})
			Expect(err).NotTo(HaveOccurred())
		}
		// prepare returns a namespace with the server, whose tools the login of carol has listed.
		prepare := func(ctx context.Context) *testNamespace {
			GinkgoHelper()
			r := w.newNamespace(ctx)
			server := MakeToolServer("files", issuer.Tools.URL+"/mcp")
			server.Spec.Auth = &v1beta1.ToolServerAuth{UserOAuth: &v1beta1.UserOAuthClient{}}
			r.create(ctx, server)
			Eventually(r.toolServer("files")).WithContext(ctx).Should(And(HaveStatus(ContainSubstring("False Unauthorized")),
				HaveField("Status.LoginURL", pageURL+"/tool-login/"+r.namespace+"/files")))
			logIn(ctx, r, "carol")
			Eventually(r.toolServer("files")).WithContext(ctx).Should(HaveStatus(ContainSubstring("True Ready")))
			return r
		}
		// start creates a task as the person stack.Admin.
		start := func(ctx context.Context, r *testNamespace, name string) {
			GinkgoHelper()
			task := MakeToolTask(name, "files__act", `{"what":"`+name+`"}`).Obj()
			task.Spec.User = stack.Admin
			r.create(ctx, task)
		}
		asks := func(parts ...string) OmegaMatcher {
			text := ContainSubstring("")
			for _, part := range parts {
				text = And(text, ContainSubstring(part))
			}
			return And(BeIn(v1beta1.TaskWaiting), HaveField("Status.Waiting", HaveValue(And(HaveField("Kind", v1beta1.WaitingQuestion), HaveField("Text", text)))))
		}

		It("asks the person with a link, refuses the answer of another one, and continues after a kill", func(ctx SpecContext) {
			r := prepare(ctx)
			start(ctx, r, "work")
			Eventually(r.task("work")).WithContext(ctx).Should(asks("credentials of "+stack.Admin, pageURL+"/tool-login/"+r.namespace+"/files"))
			answer := begin(ctx, r, stack.Admin)
			_, err := page.Login(ctx, request.Request{Action: request.Finish, Person: "mallory", Answer: answer})
			Expect(err).To(MatchError(ContainSubstring("You did not begin this login")))
			// Between the consent and its answer, the operator is killed: its successor has all that is needed.
			Expect(w.Operator.Kill()).To(Succeed())
			Expect(w.StartOperator(ctx)).To(Succeed())
			Eventually(func() error { // the endpoint of the successor opens after it is ready
				_, err := page.Login(ctx, request.Request{Action: request.Finish, Person: stack.Admin, Answer: answer})
				return err
			}).WithContext(ctx).Should(Succeed())
			// Between the login and the call.
			Expect(w.Operator.Kill()).To(Succeed())
			Expect(w.StartOperator(ctx)).To(Succeed())
			done := MakeMessage("done").Task("work").Content("done").Obj()
			done.Spec.User = stack.Admin
			r.create(ctx, done)
			Eventually(r.task("work")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveField("Status.Result.Summary", "did work")))
			Expect(issuer.Effects()).To(HaveLen(1))
			// The login serves the next call, which asks nothing.
			start(ctx, r, "again")
			Eventually(r.task("again")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			// Without it, the next one asks again.
			Eventually(func() error {
				_, err := page.Login(ctx, request.Request{Action: request.Logout, Person: stack.Admin, Namespace: r.namespace, Server: "files"})
				return err
			}).WithContext(ctx).Should(Succeed())
			start(ctx, r, "after-logout")
			Eventually(r.task("after-logout")).WithContext(ctx).Should(asks("credentials of " + stack.Admin))
		})

		It("has no credentials for a run of a trigger", func(ctx SpecContext) {
			r := prepare(ctx)
			logIn(ctx, r, stack.Admin)
			task := MakeToolTask("fired", "files__act", `{"what":"fired"}`).Obj()
			task.Spec.User = stack.Admin
			task.Annotations = map[string]string{v1beta1.AnnotationFiring: "uid/1"}
			r.createAsOperator(ctx, task)
			Eventually(r.task("fired")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskFailed), HaveField("Status.Error.Message", ContainSubstring("a run of a trigger has none"))))
			Expect(issuer.Effects()).To(BeEmpty())
		})
	})
}
