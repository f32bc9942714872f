// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
)

var _ = Describe("The chart", func() {
	It("shares the work of a database, and recreates the single writer of a file", func(ctx SpecContext) {
		file, database := renderOperator(ctx), renderOperator(ctx, with(postgres, []string{"replicas=3", "extraArgs={--shards=16}"})...)
		Expect(file.Spec.Strategy.Type).To(Equal(appsv1.RecreateDeploymentStrategyType))
		Expect(file.Spec.Template.Spec.Containers[0].Args).NotTo(ContainElement(ContainSubstring("--shards")))
		Expect(file.Spec.Template.Spec.Containers[0].Args).NotTo(ContainElement(ContainSubstring("--replica-bind-address")))
		Expect(file.Spec.Template.Spec.TopologySpreadConstraints).To(BeEmpty())
		Expect(*file.Spec.Replicas).To(BeEquivalentTo(1))

		Expect(*database.Spec.Replicas).To(BeEquivalentTo(3))
		Expect(database.Spec.Template.Spec.Containers[0].Args).To(ContainElements("--shards=16", "--replica-bind-address=:9443"))
		Expect(database.Spec.Template.Spec.Containers[0].Args).NotTo(ContainElement(ContainSubstring("leader")))
		Expect(database.Spec.Template.Spec.Containers[0].Env).To(ContainElement(SatisfyAll(HaveField("Name", "POD_IP"), HaveField("ValueFrom.FieldRef.FieldPath", "status.podIP"))))
		Expect(database.Spec.Strategy.Type).To(Equal(appsv1.RollingUpdateDeploymentStrategyType))
		Expect(database.Spec.Strategy.RollingUpdate.MaxUnavailable.String()).To(Equal("0"), "a replica ends when its successor is ready")
		Expect(database.Spec.Strategy.RollingUpdate.MaxSurge.String()).To(Equal("1"), "shards move to one new replica at a time")
		Expect(*database.Spec.Template.Spec.TerminationGracePeriodSeconds).To(BeNumerically(">", 30), "the operator may need that long")
		var over []string
		for _, constraint := range database.Spec.Template.Spec.TopologySpreadConstraints {
			Expect(constraint.WhenUnsatisfiable).To(Equal(corev1.ScheduleAnyway))
			Expect(constraint.LabelSelector).To(Equal(database.Spec.Selector))
			over = append(over, constraint.TopologyKey)
		}
		Expect(over).To(ConsistOf("kubernetes.io/hostname", "topology.kubernetes.io/zone"))
	})

	It("lets replicas connect to each other, and no other pod to them", func(ctx SpecContext) {
		var file, database, strict networkingv1.NetworkPolicy
		convert(find(rendered(ctx), "NetworkPolicy", "nestor-operator"), &file)
		convert(find(rendered(ctx, postgres...), "NetworkPolicy", "nestor-operator"), &database)
		convert(find(rendered(ctx, with(postgres, []string{"networkPolicy.egress[0].ports[0].port=443"})...), "NetworkPolicy", "nestor-operator"), &strict)
		port := HaveField("Ports", ConsistOf(HaveField("Port.StrVal", "replicas")))
		own := ConsistOf(networkingv1.NetworkPolicyPeer{PodSelector: &database.Spec.PodSelector})
		Expect(file.Spec.Ingress).NotTo(ContainElement(port))
		Expect(database.Spec.Ingress).To(ContainElement(And(port, HaveField("From", own))))
		Expect(strict.Spec.Egress).To(ConsistOf(HaveField("Ports", ConsistOf(HaveField("Port.IntVal", BeEquivalentTo(443)))), And(port, HaveField("To", own))))
		Expect(renderOperator(ctx, postgres...).Spec.Template.Spec.Containers[0].Ports).To(ContainElement(And(HaveField("Name", "replicas"), HaveField("ContainerPort", BeEquivalentTo(9443)))))
	})

	It("runs the gateway only if asked to, in pods of its own", func(ctx SpecContext) {
		byDefault := renderOperator(ctx).Spec.Template.Spec.Containers[0]
		Expect(byDefault.Args).NotTo(ContainElement(MatchRegexp("--(gateway|intake)")))
		for _, kind := range []string{"Deployment", "Service", "NetworkPolicy", "ServiceAccount", "ClusterRole"} {
			Expect(find(rendered(ctx), kind, "nestor-gateway")).To(BeNil(), kind)
		}

		values := []string{
			"gateway.enabled=true", "gateway.replicas=3", "image.tag=v9",
			"gateway.resources.limits.memory=1Gi",
		}
		deployment := renderGateway(ctx, values...)
		Expect(*deployment.Spec.Replicas).To(BeEquivalentTo(3))
		Expect(deployment.Spec.Template.Spec.TopologySpreadConstraints).To(HaveLen(2))
		Expect(find(rendered(ctx, values...), "PodDisruptionBudget", "nestor-gateway")).NotTo(BeNil())
		container := deployment.Spec.Template.Spec.Containers[0]
		Expect(container.Image).To(Equal("nestor-dev/nestor-gateway:v9"))
		Expect(container.Resources.Limits.Memory().String()).To(Equal("1Gi"))
		Expect(container.Args).To(ContainElements("--gateway-bind-address=:8444",
			"--operator-url=https://nestor-operator.nestor-system.svc"))
		Expect(container.Args).NotTo(ContainElement(HavePrefix("--web")))
		Expect(container.Ports).To(ContainElement(And(HaveField("Name", "gateway"), HaveField("ContainerPort", BeEquivalentTo(8444)))))
		var service corev1.Service
		convert(find(rendered(ctx, values...), "Service", "nestor-gateway"), &service)
		Expect(service.Spec.Ports).To(ConsistOf(And(HaveField("Port", BeEquivalentTo(443)), HaveField("TargetPort.StrVal", "gateway"))))
		Expect(service.Spec.Selector).To(Equal(deployment.Spec.Selector.MatchLabels))
	})

	It("gives the gateway no permissions but reviews, and no key of the operator", func(ctx SpecContext) {
		var role rbacv1.ClusterRole
		convert(find(rendered(ctx, "gateway.enabled=true"), "ClusterRole", "nestor-gateway"), &role)
		Expect(role.Rules).To(ConsistOf(
			rbacv1.PolicyRule{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"}},
			rbacv1.PolicyRule{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"}},
		))
		Expect(find(rendered(ctx, "gateway.enabled=true", "metrics.insecure=true"), "ClusterRole", "nestor-gateway")).To(BeNil(), "reviews are for the metrics")
		secrets := func(values ...string) map[string][]string {
			found := map[string][]string{}
			for _, source := range renderGateway(ctx, values...).Spec.Template.Spec.Volumes[0].Projected.Sources {
				if source.Secret == nil {
					Expect(source.ServiceAccountToken.Audience).To(Equal("nestor-operator"))
					continue
				}
				for _, item := range source.Secret.Items {
					found[source.Secret.Name] = append(found[source.Secret.Name], item.Key)
				}
			}
			return found
		}
		Expect(secrets("gateway.enabled=true")).To(Equal(map[string][]string{"nestor-history-cert": {"ca.crt"}, "nestor-gateway-cert": {"tls.crt", "tls.key"}}))
		Expect(renderOperator(ctx, "gateway.enabled=true").Spec.Template.Spec.Containers[0].Args).To(ContainElements(
			"--intake-bind-address=:9444", "--name=nestor", "--gateway-cert-secret=nestor-gateway-cert"))

		own := []string{"gateway.enabled=true", "gateway.tlsSecretName=public"}
		Expect(secrets(own...)).To(Equal(map[string][]string{"nestor-history-cert": {"ca.crt"}, "public": {"tls.crt", "tls.key"}}))
		Expect(renderOperator(ctx, own...).Spec.Template.Spec.Containers[0].Args).NotTo(ContainElement(HavePrefix("--gateway-cert-secret")))
		Expect(find(rendered(ctx, own...), "Secret", "nestor-gateway-cert")).To(BeNil())

		var ofSignIn []string // docs/concepts/security.md lists what a compromised gateway has
		for _, item := range renderGateway(ctx, oidc...).Spec.Template.Spec.Volumes[0].Secret.Items {
			ofSignIn = append(ofSignIn, item.Key)
		}
		Expect(ofSignIn).To(ConsistOf("client-secret", "session-keys"), "a Secret may have other keys")
	})

	It("serves the web page in the gateway's pods, with or without the gateway", func(ctx SpecContext) {
		deployment := renderGateway(ctx, "web.enabled=true")
		Expect(deployment.Spec.Template.Spec.Containers[0].Args).To(ContainElement("--web-bind-address=:8082"))
		Expect(deployment.Spec.Template.Spec.Containers[0].Args).NotTo(ContainElement(HavePrefix("--gateway")))
		Expect(deployment.Spec.Template.Spec.Volumes).To(BeEmpty())
		Expect(renderOperator(ctx, "web.enabled=true").Spec.Template.Spec.Containers[0].Args).NotTo(ContainElement(MatchRegexp("--(web|intake)")))
		var service corev1.Service
		convert(find(rendered(ctx, "web.enabled=true"), "Service", "nestor-web"), &service)
		Expect(service.Spec.Selector).To(Equal(deployment.Spec.Selector.MatchLabels))
		Expect(renderGateway(ctx, with(page, []string{"gateway.enabled=true"})...).Spec.Template.Spec.Containers[0].Args).To(ContainElement("--web-url=https://nestor.example.com"))
	})

	It("lets clients connect to the gateway, and only the gateway to the operator's endpoint", func(ctx SpecContext) {
		values := []string{
			"gateway.enabled=true", "web.enabled=true", "networkPolicy.gatewayFrom[0].podSelector.matchLabels.app=client",
			"networkPolicy.gatewayEgress[0].ports[0].port=6443",
		}
		var gateway, operator networkingv1.NetworkPolicy
		convert(find(rendered(ctx, values...), "NetworkPolicy", "nestor-gateway"), &gateway)
		convert(find(rendered(ctx, values...), "NetworkPolicy", "nestor-operator"), &operator)
		Expect(gateway.Spec.PodSelector.MatchLabels).To(Equal(renderGateway(ctx, values...).Spec.Selector.MatchLabels))
		from := func(port string, labels map[string]string) gomegatypes.GomegaMatcher {
			peer := networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: labels}}
			return And(HaveField("Ports", ConsistOf(HaveField("Port.StrVal", port))), HaveField("From", ConsistOf(peer)))
		}
		Expect(gateway.Spec.Ingress).To(ContainElements(from("gateway", map[string]string{"app": "client"}), from("web", map[string]string{"app": "client"})))
		Expect(operator.Spec.Ingress).To(ContainElement(from("intake", gateway.Spec.PodSelector.MatchLabels)))
		Expect(gateway.Spec.Egress).To(ConsistOf(
			HaveField("Ports", ConsistOf(HaveField("Port.IntVal", BeEquivalentTo(6443)))),
			And(HaveField("Ports", ConsistOf(HaveField("Port.StrVal", "intake"))), HaveField("To", ConsistOf(networkingv1.NetworkPolicyPeer{PodSelector: &operator.Spec.PodSelector}))),
		))
	})

	It("has a disruption budget for several replicas, which never forbids all drains", func(ctx SpecContext) {
		Expect(find(rendered(ctx, postgres...), "PodDisruptionBudget", "nestor-operator")).To(BeNil())
		for value, want := range map[string]string{"replicas=2": "1", "replicas=3": "1", "autoscaling.enabled=true": "1"} {
			var budget policyv1.PodDisruptionBudget
			convert(find(rendered(ctx, with(postgres, []string{value})...), "PodDisruptionBudget", "nestor-operator"), &budget)
			Expect(budget.Spec.MaxUnavailable.String()).To(Equal(want))
			Expect(budget.Spec.MinAvailable).To(BeNil())
		}
	})

	It("leaves the number of replicas to the autoscaler", func(ctx SpecContext) {
		values := with(postgres, []string{"autoscaling.enabled=true", "autoscaling.maxReplicas=8"})
		deployment := renderOperator(ctx, values...)
		Expect(deployment.Spec.Replicas).To(BeNil(), "an upgrade must not reset it")
		Expect(deployment.Spec.Template.Spec.TopologySpreadConstraints).NotTo(BeEmpty())
		var scaler autoscalingv2.HorizontalPodAutoscaler
		convert(find(rendered(ctx, values...), "HorizontalPodAutoscaler", "nestor-operator"), &scaler)
		Expect(scaler.Spec.ScaleTargetRef.Name).To(Equal(deployment.Name))
		Expect(*scaler.Spec.MinReplicas).To(BeEquivalentTo(2))
		Expect(scaler.Spec.MaxReplicas).To(BeEquivalentTo(8))
		Expect(find(rendered(ctx, postgres...), "HorizontalPodAutoscaler", "nestor-operator")).To(BeNil())
	})

	It("grants the same permissions in selected namespaces as in all, and only there", func(ctx SpecContext) {
		everywhere := rolePermissions(find(rendered(ctx), "ClusterRole", "nestor-operator"))
		narrowed := rendered(ctx, few...)
		inCluster := rolePermissions(find(narrowed, "ClusterRole", "nestor-operator"))
		for _, namespace := range []string{"team-a", "team-b", release} {
			var role *unstructured.Unstructured
			for _, object := range narrowed {
				if object.GetKind() == "Role" && object.GetName() == "nestor-operator-watch" && object.GetNamespace() == namespace {
					role = object
				}
			}
			Expect(role).NotTo(BeNil(), namespace)
			Expect(sets.List(inCluster.Union(rolePermissions(role)))).To(Equal(sets.List(everywhere)))
		}
		clusterScoped := resourcesOfTheCluster()
		for right := range inCluster {
			Expect(clusterScoped).To(HaveKey(strings.Fields(right)[0]), "%s is for namespaces", right)
		}
	})

	It("has the starter policies of config/policies, in the mode of the values", func(ctx SpecContext) {
		built, err := run(ctx, kustomizePath, "build", filepath.Join("config", "policies"))
		Expect(err).NotTo(HaveOccurred())
		policies, err := parse(built)
		Expect(err).NotTo(HaveOccurred())
		names := make([]string, 0, len(policies))
		for _, policy := range policies {
			names = append(names, policy.GetName())
		}
		objects := rendered(ctx, "policies.starter.names={"+strings.Join(names, ",")+"}")
		for _, policy := range policies {
			chart := find(objects, "ToolPolicy", policy.GetName())
			Expect(chart).NotTo(BeNil(), policy.GetName())
			Expect(unstructured.SetNestedField(policy.Object, "Enforce", "spec", "mode")).To(Succeed())
			Expect(chart.Object["spec"]).To(Equal(policy.Object["spec"]))
			Expect(chart.GetNamespace()).To(Equal(policy.GetNamespace()))
		}
	})

	It("lets triggers watch what the values list, where the operator works", func(ctx SpecContext) {
		watch := []string{"triggers.watch[0].apiGroups={apps}", "triggers.watch[0].resources={deployments}"}
		permissions := func(kind, name string, values ...string) sets.Set[string] {
			return rolePermissions(find(rendered(ctx, values...), kind, name))
		}
		more := permissions("ClusterRole", "nestor-operator", watch...).Difference(permissions("ClusterRole", "nestor-operator"))
		Expect(sets.List(more)).To(HaveLen(2), "list and watch")
		Expect(sets.List(more)).To(HaveEach(ContainSubstring("deployments")))
		Expect(sets.List(permissions("Role", "nestor-operator-watch", with(few, watch)...).Difference(permissions("Role", "nestor-operator-watch", few...)))).To(Equal(sets.List(more)))
		Expect(permissions("ClusterRole", "nestor-operator", with(few, watch)...).Equal(permissions("ClusterRole", "nestor-operator", few...))).To(BeTrue())
	})

	It("monitors only the Services with metrics", func(ctx SpecContext) {
		for name, values := range map[string][]string{"nestor": nil, "other": {"fullnameOverride=other"}} {
			objects := rendered(ctx, with(page, values, []string{"metrics.serviceMonitor.enabled=true"})...)
			var monitor struct {
				Spec struct {
					Selector  metav1.LabelSelector `json:"selector"`
					Endpoints []struct {
						Port string `json:"port"`
					} `json:"endpoints"`
				} `json:"spec"`
			}
			convert(find(objects, "ServiceMonitor", name+"-operator"), &monitor)
			selector, err := metav1.LabelSelectorAsSelector(&monitor.Spec.Selector)
			Expect(err).NotTo(HaveOccurred())
			for _, object := range objects {
				if object.GetKind() == "Service" {
					hasMetrics := slices.Contains([]string{name + "-metrics", name + "-gateway-metrics"}, object.GetName())
					Expect(selector.Matches(labels.Set(object.GetLabels()))).To(Equal(hasMetrics), object.GetName())
				}
			}
			for _, metrics := range []string{name + "-metrics", name + "-gateway-metrics"} {
				var service corev1.Service
				convert(find(objects, "Service", metrics), &service)
				Expect(monitor.Spec.Endpoints).To(ConsistOf(HaveField("Port", service.Spec.Ports[0].Name)), metrics)
			}
		}
	})

	It("requires a token for the metrics unless they are insecure", func(ctx SpecContext) {
		for _, insecure := range []bool{false, true} {
			values := []string{"history.enabled=false", "metrics.serviceMonitor.enabled=true", fmt.Sprintf("metrics.insecure=%t", insecure)}
			objects := rendered(ctx, values...)
			var monitor struct {
				Spec struct {
					Endpoints []struct {
						Scheme          string `json:"scheme"`
						BearerTokenFile string `json:"bearerTokenFile"`
					} `json:"endpoints"`
				} `json:"spec"`
			}
			convert(find(objects, "ServiceMonitor", "nestor-operator"), &monitor)
			secure := monitor.Spec.Endpoints[0].Scheme == "https" && monitor.Spec.Endpoints[0].BearerTokenFile != ""
			Expect(secure).To(Equal(!insecure))
			Expect(find(objects, "ClusterRole", "nestor-operator-metrics-reader") != nil).To(Equal(!insecure))
			Expect(find(objects, "ClusterRoleBinding", "nestor-history-auth-delegator") != nil).To(Equal(!insecure))
			args := renderOperator(ctx, values...).Spec.Template.Spec.Containers[0].Args
			Expect(slices.Contains(args, "--metrics-insecure")).To(Equal(insecure))
		}
	})

	It("registers the webhook with everything that it needs, or nothing of it", func(ctx SpecContext) {
		for value, enabled := range map[string]bool{"admission.enabled=true": true, "admission.enabled=false": false, "history.enabled=false": false} {
			objects := rendered(ctx, value, "fullnameOverride=other", "watchNamespaces={team}")
			text := ""
			for _, object := range objects {
				rendering, err := object.MarshalJSON()
				Expect(err).NotTo(HaveOccurred())
				text += string(rendering)
			}
			registered := find(objects, "ValidatingWebhookConfiguration", "other")
			Expect(registered != nil).To(Equal(enabled), value)
			Expect(strings.Contains(text, "admission-bind-address")).To(Equal(enabled), value)
			Expect(strings.Contains(text, `"port":"admission"`)).To(Equal(enabled), "the network policy with "+value)
			Expect(strings.Contains(text, `"targetPort":"admission"`)).To(Equal(enabled), "the service with "+value)
			Expect(strings.Contains(text, "validatingwebhookconfigurations")).To(Equal(enabled), "the permissions with "+value)
			if enabled {
				rendering, err := registered.MarshalJSON()
				Expect(err).NotTo(HaveOccurred())
				Expect(string(rendering)).To(And(ContainSubstring(`"values":["team","nestor-system"]`), ContainSubstring("serviceaccount:nestor-system:other-operator")))
			}
		}
	})

	It("stores the key of a model only in a Secret", func(ctx SpecContext) {
		for _, object := range rendered(ctx, with(provider, []string{"modelProvider.apiKey=hunter2"})...) {
			text, err := object.MarshalJSON()
			Expect(err).NotTo(HaveOccurred())
			Expect(strings.Contains(string(text), "hunter2")).To(Equal(object.GetKind() == "Secret" && object.GetName() == "nestor-model-default"), object.GetName())
		}
	})
})

func renderOperator(ctx context.Context, values ...string) *appsv1.Deployment {
	GinkgoHelper()
	deployment := &appsv1.Deployment{}
	convert(find(rendered(ctx, values...), "Deployment", "nestor-operator"), deployment)
	return deployment
}

func renderGateway(ctx context.Context, values ...string) *appsv1.Deployment {
	GinkgoHelper()
	deployment := &appsv1.Deployment{}
	convert(find(rendered(ctx, values...), "Deployment", "nestor-gateway"), deployment)
	return deployment
}

// convert converts an object, which must not be nil, to a typed one.
func convert(object *unstructured.Unstructured, into any) {
	GinkgoHelper()
	Expect(object).NotTo(BeNil())
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into)).To(Succeed())
}

// rolePermissions returns the permissions of a role, as "resource.group verb".
func rolePermissions(role *unstructured.Unstructured) sets.Set[string] {
	GinkgoHelper()
	var typed rbacv1.ClusterRole
	convert(role, &typed)
	permissions := sets.New[string]()
	for _, rule := range typed.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					permissions.Insert(fmt.Sprintf("%s.%s %s %v", resource, group, verb, rule.ResourceNames))
				}
			}
		}
	}
	return permissions
}

func resourcesOfTheCluster() map[string]bool {
	GinkgoHelper()
	client, err := discovery.NewDiscoveryClientForConfig(cluster.Config)
	Expect(err).NotTo(HaveOccurred())
	lists, err := client.ServerPreferredResources()
	Expect(err).NotTo(HaveOccurred())
	found := map[string]bool{}
	for _, list := range lists {
		group, _, _ := strings.Cut(list.GroupVersion, "/")
		if !strings.Contains(list.GroupVersion, "/") {
			group = ""
		}
		for _, resource := range list.APIResources {
			if !resource.Namespaced {
				found[resource.Name+"."+group] = true
			}
		}
	}
	return found
}
