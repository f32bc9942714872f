// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/a2atest"
)

func playCodeReview(r *room) {
	r.applyOnProject("code-review")
	answer, err := r.nestor("send", "code-review", "Review the project.", "--wait", "--timeout", "2m")
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(answer).To(ContainSubstring("The reviewers are at work."))
	r.Eventually(r.messages).Should(ContainElement(HaveField("Spec.Content", "1. greet.sh: the variable is misspelt. 2. No test covers an empty name.")))
	for name, role := range map[string]string{"code-review-1": "code-review-security", "code-review-2": "code-review-quality", "code-review-3": "code-review-tests"} {
		r.Eventually(r.Task(name)).Should(And(HaveField("Status.Phase", v1beta1.TaskSuccess), HaveField("Spec.Role", role)))
	}
}

func playIncidentHelper(r *room) {
	r.apply("incident-helper")
	r.bind("alice", "nestor-runner")
	r.bind("bob", "nestor-runner")
	_, err := r.nestor("run", "incident-helper", "Checkout answers with errors. Find out why, and repair it.", "--name", "checkout", "--as", "alice")
	r.Expect(err).NotTo(HaveOccurred())
	r.Eventually(r.Task("checkout")).Should(And(HaveField("Status.Phase", v1beta1.TaskWaiting), HaveField("Status.Waiting.Text", ContainSubstring(`runbook__repair {"what":"certificate"}`))))
	_, err = r.nestor("approve", "checkout", "--as", "alice", "--timeout", "2m")
	r.Expect(err).To(HaveOccurred(), "she requested the work")
	r.Expect(r.Task("checkout")()).To(HaveField("Status.Phase", v1beta1.TaskWaiting))
	shown, err := r.nestor("approve", "checkout", "--as", "bob", "--timeout", "2m")
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(shown).To(ContainSubstring(`runbook__repair {"what":"certificate"}`))
	r.Eventually(r.Task("checkout")).Should(And(HaveField("Status.Phase", v1beta1.TaskSuccess), HaveField("Status.Result.Summary", "Checkout works again: the certificate was renewed.")))
}

func playWorkspaceFix(r *room) {
	r.applyOnProject("workspace-fix")
	r.Eventually(r.Task("fix-greeting")).Should(HaveField("Status.Phase", v1beta1.TaskWaiting))
	r.Expect(os.ReadFile(filepath.Join(project, "greet.sh"))).To(BeEquivalentTo("echo \"Hello $nme\"\n"), "nothing changes before the approval")
	_, err := r.nestor("approve", "fix-greeting", "--timeout", "2m")
	r.Expect(err).NotTo(HaveOccurred())
	r.Eventually(r.Task("fix-greeting")).Should(And(HaveField("Status.Phase", v1beta1.TaskSuccess), HaveField("Status.Result.FilesModified", ConsistOf(BeEquivalentTo("greet.sh")))))
	r.Expect(os.ReadFile(filepath.Join(project, "greet.sh"))).To(BeEquivalentTo("echo \"Hello $1\"\n"))
}

func playInvoiceExtraction(r *room) {
	r.apply("invoice-extraction")
	r.kubectl(nil, "wait", "-n", r.Namespace, "--for=condition=Succeeded", "agenttask/invoice-2026-117", "--timeout=2m")
	read := r.kubectl(nil, "get", "agenttask", "-n", r.Namespace, "invoice-2026-117", "-o", "jsonpath={.status.result.data.totalCents} {.status.result.data.sumMatches}")
	r.Expect(read).To(Equal("11450 true"))
}

func playReviewedWriting(r *room) {
	r.apply("reviewed-writing")
	r.Eventually(r.Task("report-checkout")).Should(And(
		HaveField("Status.Phase", v1beta1.TaskSuccess), HaveField("Status.Result.Summary", "Checkout failed from 10:00 to 10:20 UTC.")))
	r.Eventually(r.Task("report-checkout-1")).Should(HaveField("Status.Result.Data.Raw", ContainSubstring("The times have no zone.")))
	r.Eventually(r.Task("report-checkout-2")).Should(HaveField("Status.Result.Data.Raw", ContainSubstring(`"verdict":"approve"`)))
}

func playTeamQuota(r *room) {
	r.apply("team-quota")
	for _, quota := range []string{"month", "hour"} {
		r.kubectl(nil, "wait", "-n", r.Namespace, "--for=condition=Ready", "agentquota/"+quota, "--timeout=2m")
	}
	result, err := r.nestor("run", "translator", "Der Leuchtturm ist aus.", "--wait", "--timeout", "2m")
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(result).To(ContainSubstring("The lighthouse is out."))
	for _, quota := range []string{"month", "hour"} {
		r.Eventually(func() (string, error) {
			return r.kubectl(nil, "get", "agentquota", "-n", r.Namespace, quota, "-o", "jsonpath={.status.used.tokens}"), nil
		}).Should(MatchRegexp(`^[1-9]\d*$`), quota)
	}
	mayCreate := func(group string) func() (string, error) {
		return func() (string, error) {
			// The answer no is also an exit code.
			return r.kubectl(nil, "auth", "can-i", "--list", "-n", r.Namespace, "--as", "alice", "--as-group", group), nil
		}
	}
	r.Eventually(mayCreate("team-lighthouse")).Should(MatchRegexp(`(?m)^agentchats\.nestor\.dev .*\bcreate\b`))
	r.Eventually(mayCreate("auditors")).Should(And(MatchRegexp(`(?m)^agentchats\.nestor\.dev .*\bget\b`), Not(MatchRegexp(`(?m)^agentchats\.nestor\.dev .*\bcreate\b`))))
}

func playRemoteAgent(r *room) {
	remote := a2atest.Start(r.t, a2atest.Options{})
	r.apply("remote-agent", "https://agents.example.com/weather", remote.URL)
	_, err := r.nestor("send", "harbour", "May the ferry to Berlin leave tomorrow?", "--wait", "--timeout", "2m")
	r.Expect(err).NotTo(HaveOccurred())
	r.Eventually(r.messages).Should(ContainElement(HaveField("Spec.Content", "Yes, it may leave: it is sunny in Berlin.")))
	r.Eventually(r.Task("harbour-1")).Should(And(HaveField("Status.Phase", v1beta1.TaskSuccess), HaveField("Spec.Role", "weather")))
}

func playOpenAIClient(r *room) {
	r.apply("openai-client")
	r.kubectl(nil, "create", "rolebinding", "support-desk", "-n", r.Namespace, "--clusterrole", "nestor-runner", "--serviceaccount", r.Namespace+":support-desk")
	r.Expect(r.AwaitRole(r.t.Context(), r.Namespace, "system:serviceaccount:"+r.Namespace+":support-desk", "nestor-runner")).To(Succeed())
	token := strings.TrimSpace(r.kubectl(nil, "create", "token", "support-desk", "-n", r.Namespace))
	body := `{"model": "` + r.Namespace + `/support", "messages": [{"role": "user", "content": "What do 3 lamps at 17 EUR cost?"}]}`
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.GatewayURL+"/v1/chat/completions", strings.NewReader(body))
	r.Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	r.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	r.Expect(err).NotTo(HaveOccurred())
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
		Meta    struct{ Task string } `json:"metadata"`
	}
	r.Expect(json.Unmarshal(text, &answer)).To(Succeed(), "%s", text)
	r.Expect(answer.Choices).To(HaveLen(1), "%s", text)
	r.Expect(answer.Choices[0].Message.Content).To(Equal("3 lamps cost 51 EUR."))
	_, name, _ := strings.Cut(answer.Meta.Task, "/")
	r.Eventually(r.Task(name)).Should(HaveField("Status.Phase", v1beta1.TaskSuccess))
}

func playBookkeeper(r *room) {
	r.apply("bookkeeper")
	r.waitForTriggers()
	_, err := r.nestor("run", "bookkeeper", "Add up the takings: 120, 85 and 17.", "--name", "takings")
	r.Expect(err).NotTo(HaveOccurred())
	r.Eventually(r.Task("takings")).Should(HaveField("Status.Phase", v1beta1.TaskWaiting))
	_, err = r.nestor("approve", "takings")
	r.Expect(err).NotTo(HaveOccurred())
	r.Eventually(r.Task("takings")).Should(And(
		HaveField("Status.Phase", v1beta1.TaskSuccess), HaveField("Status.Result.Summary", "The takings are 222.")))
}
