// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package endpoint_test

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/validation/endpoint"
)

func scheduled(name, cron string) *v1beta1.AgentTrigger {
	return &v1beta1.AgentTrigger{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: v1beta1.AgentTriggerSpec{
		Schedule: &v1beta1.TriggerSchedule{Cron: cron}, Task: &v1beta1.TriggerTask{Role: "general", Instruction: "Work."},
	}}
}

func poet(name string) *v1beta1.AgentRole {
	return &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: v1beta1.AgentRoleSpec{SystemPrompt: "Write."}}
}

func causes(err error) []string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var fields []string
	for _, cause := range status.Status().Details.Causes {
		fields = append(fields, cause.Field)
	}
	return fields
}

const (
	yearly = "0 0 1 1 *"
	// impossible has the form that the API checks.
	impossible = "0 99 * * *"
)

var _ = Describe("The webhook of a running operator", Ordered, func() {
	BeforeAll(func() {
		DeferCleanup(startOperator())
		// The API server trusts the operator when it has read the bundle.
		Eventually(func() bool {
			return apierrors.IsInvalid(api.Create(ctx, scheduled("probe", impossible), client.DryRunAll))
		}).Should(BeTrue())
	})

	It("refuses what can never work, with the field", func() {
		err := api.Create(ctx, scheduled("bad", impossible))
		Expect(err).To(MatchError(ContainSubstring(`"admission.nestor.dev" denied the request: spec.schedule.cron: end of range (99) above maximum (23)`)))
		Expect(causes(err)).To(Equal([]string{"spec.schedule.cron"}))
		good := scheduled("good", yearly)
		Expect(api.Create(ctx, good)).To(Succeed())
		patch := []byte(`{"spec":{"schedule":{"cron":"` + impossible + `"}}}`)
		err = api.Patch(ctx, good, client.RawPatch("application/merge-patch+json", patch))
		Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
	})

	It("warns about what does not exist, and creates the object", func() {
		role := poet("lost")
		role.Spec.ModelProvider = "nowhere"
		role.Spec.Delegation = &v1beta1.Delegation{Roles: []string{"lost", "coder", "nobody"}}
		role.Spec.Tools = &v1beta1.RoleTools{Allow: []string{"read", "reed", "nohub__*"}}
		Expect(heard.during(func() { Expect(api.Create(ctx, role)).To(Succeed()) })).To(Equal([]string{
			`spec.modelProvider: Create the ModelProvider "nowhere" in the namespace default, or a shared one in nestor-system whose allowedNamespaces include it.`,
			`spec.delegation.roles: Create the AgentRole "nobody" in the namespace default, or a shared one in nestor-system whose allowedNamespaces include it.`,
			`spec.tools.allow: Create the ToolServer "nohub" in the namespace default, or a shared one in nestor-system whose allowedNamespaces include it.`,
			`spec.tools.allow: "reed" matches no tool.`,
		}))
	})

	It("finds what was created just before", func() {
		Expect(heard.during(func() {
			for _, name := range []string{"a", "b", "c", "d"} {
				Expect(api.Create(ctx, poet(name))).To(Succeed())
				chat := &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: v1beta1.AgentChatSpec{Role: name}}
				Expect(api.Create(ctx, chat)).To(Succeed())
			}
		})).To(BeEmpty())
	})

	It("is not asked about what the operator writes, nor about metadata", func() {
		other := copyTo(func(http.ResponseWriter, *http.Request) {})
		t := scheduled("fired", yearly)
		Expect(api.Create(ctx, t)).To(Succeed())
		Eventually(other.users).ShouldNot(BeEmpty(), "the copy of the webhook is not asked")
		before := len(other.users())
		patch := []byte(`{"metadata":{"annotations":{"nestor.dev/fire":"{\"id\":\"1\"}"}}}`)
		Expect(api.Patch(ctx, t, client.RawPatch("application/merge-patch+json", patch))).To(Succeed())
		var tasks v1beta1.AgentTaskList
		Eventually(func() []v1beta1.AgentTask {
			Expect(api.List(ctx, &tasks, client.MatchingLabels{v1beta1.LabelTrigger: "fired"})).To(Succeed())
			return tasks.Items
		}).ShouldNot(BeEmpty(), "the operator creates a task")
		Expect(other.users()).To(HaveLen(before))
	})

	It("delays nothing for longer than two seconds", func() {
		released := make(chan struct{})
		defer close(released)
		other := copyTo(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-released:
			case <-r.Context().Done():
			}
		})
		Eventually(func() int {
			Expect(api.Create(ctx, scheduled("probe", yearly), client.DryRunAll)).To(Succeed())
			return len(other.users())
		}).ShouldNot(BeZero())
		start := time.Now()
		Expect(api.Create(ctx, scheduled("slow", yearly))).To(Succeed())
		Expect(time.Since(start)).To(BeNumerically("~", 2*time.Second, 1500*time.Millisecond))
	})
})

var _ = Describe("Without an operator", func() {
	It("everything is created, and conditions say the same afterwards", func() {
		bad, strict := scheduled("unseen", impossible), poet("unseen")
		strict.Spec.Delegation = &v1beta1.Delegation{Roles: []string{"nobody"}}
		Expect(api.Create(ctx, bad)).To(Succeed())
		Expect(api.Create(ctx, strict)).To(Succeed())
		DeferCleanup(startOperator())
		ready := func(object client.Object, conditions *[]metav1.Condition) func() string {
			return func() string {
				Expect(api.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
				found := meta.FindStatusCondition(*conditions, v1beta1.ConditionReady)
				if found == nil {
					return ""
				}
				return found.Reason + ": " + found.Message
			}
		}
		Eventually(ready(bad, &bad.Status.Conditions)).Should(HavePrefix("InvalidSpec: spec.schedule.cron: end of range (99) above maximum (23)"))
		Eventually(ready(strict, &strict.Status.Conditions)).Should(And(HavePrefix("RoleNotFound: "), ContainSubstring("nobody")))
		// It can still be suspended.
		Eventually(func() []string {
			return heard.during(func() {
				patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"suspend":true}}`))
				Expect(api.Patch(ctx, bad, patch, client.DryRunAll)).To(Succeed())
			})
		}).Should(ConsistOf(HavePrefix("spec.schedule.cron: end of range (99) above maximum (23)")))
	})
})

// recording is a server beside the webhook that admits everything.
type recording struct {
	mu    sync.Mutex
	asked []string
}

// users returns who wrote the objects that the server was asked about.
func (r *recording) users() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.asked...)
}

// copyTo registers a server with the same rules and conditions as the webhook, until the spec ends.
func copyTo(first http.HandlerFunc) *recording {
	GinkgoHelper()
	record := &recording{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		record.mu.Lock()
		record.asked = append(record.asked, review.Request.UserInfo.Username)
		record.mu.Unlock()
		first(w, r)
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		_ = json.NewEncoder(w).Encode(review) // the API server may have given up
	}))
	registered := configuration()
	registered.Name = "copy"
	registered.Webhooks[0].ClientConfig.Service = nil
	registered.Webhooks[0].ClientConfig.URL = ptr.To(server.URL + endpoint.Path)
	registered.Webhooks[0].ClientConfig.CABundle = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	Expect(api.Create(ctx, registered)).To(Succeed())
	DeferCleanup(func() {
		Expect(api.Delete(ctx, registered)).To(Succeed())
		server.Close()
	})
	return record
}
