// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"context"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Common groups of values.
var (
	postgres = []string{"ledger.postgres.existingSecret=nestor-ledger"}
	page     = []string{"web.enabled=true", "web.ingress.enabled=true", "web.ingress.host=nestor.example.com", "web.ingress.tlsSecretName=page"}
	provider = []string{"modelProvider.create=true", "modelProvider.baseURL=https://models.example.com/v1"}
	few      = []string{"watchNamespaces={team-a,team-b}"}
)

func with(groups ...[]string) []string {
	var all []string
	for _, group := range groups {
		all = append(all, group...)
	}
	return all
}

var accepted = map[string][]string{
	"the default values":                   nil,
	"PostgreSQL":                           postgres,
	"PostgreSQL and three replicas":        with(postgres, []string{"replicas=3", "podDisruptionBudget.maxUnavailable=50%"}),
	"PostgreSQL with more shards":          with(postgres, []string{"replicas=40", "extraArgs={--shards=64,--lease-duration=4s}"}),
	"autoscaling":                          with(postgres, []string{"autoscaling.enabled=true", "autoscaling.minReplicas=3", "autoscaling.maxReplicas=10"}),
	"autoscaling by another metric":        with(postgres, []string{"autoscaling.enabled=true", "autoscaling.metrics[0].type=Pods", "autoscaling.metrics[0].resource=null", "autoscaling.metrics[0].pods.metric.name=nestor_effects_in_flight", "autoscaling.metrics[0].pods.target.type=AverageValue", "autoscaling.metrics[0].pods.target.averageValue=1500"}),
	"other topology spread constraints":    with(postgres, []string{"replicas=2", "topologySpreadConstraints[0].maxSkew=2", "topologySpreadConstraints[0].topologyKey=rack", "topologySpreadConstraints[0].whenUnsatisfiable=ScheduleAnyway"}),
	"no disruption budget":                 with(postgres, []string{"replicas=2", "podDisruptionBudget.enabled=false"}),
	"an existing claim":                    {"ledger.sqlite.existingClaim=mine"},
	"a ledger in the pod":                  {"ledger.sqlite.volume=Ephemeral"},
	"a volume of another class":            {"fullnameOverride=other", "ledger.sqlite.storageClassName=fast", "ledger.sqlite.size=100Gi", "ledger.sqlite.accessModes={ReadWriteOncePod}"},
	"retention and a quota":                {"ledger.retention=2160h", "ledger.callRetention=720h", "ledger.namespaceQuota=2Gi"},
	"a few namespaces":                     few,
	"a few namespaces without history":     with(few, []string{"history.enabled=false"}),
	"a few namespaces and PostgreSQL":      with(few, postgres),
	"no history":                           {"history.enabled=false"},
	"no webhook":                           {"admission.enabled=false"},
	"no metrics":                           {"metrics.enabled=false"},
	"metrics for everyone":                 {"metrics.insecure=true", "metrics.serviceMonitor.enabled=true", "history.enabled=false"},
	"receivers in private networks":        {"gateway.enabled=true", "gateway.pushNetworks={10.1.0.0/16,fd12::/16}"},
	"no workspaces":                        {"workspace.enabled=false"},
	"git servers in the cluster":           {"workspace.privateGitServers={gitea.dev.svc,10.1.0.0/16}"},
	"larger workspaces with more egress":   {"workspace.maxSize=50Gi", "workspace.egress[0].ports[0].port=53", "workspace.egress[0].ports[0].protocol=UDP", "workspace.egress[1].to[0].ipBlock.cidr=192.0.2.0/24"},
	"no policies":                          {"policies.enabled=false"},
	"an exempt backup program":             {"policies.exemptUsers={system:serviceaccount:velero:velero}"},
	"starter policies":                     {"policies.starter.names={untrusted-writes,untrusted-disclosure,production-writes,write-limit}", "policies.starter.mode=Audit"},
	"no roles for people":                  {"rbac.userRoles.create=false"},
	"roles that are not aggregated":        {"rbac.userRoles.aggregate=false"},
	"permissions created elsewhere":        {"rbac.create=false"},
	"a service account created elsewhere":  {"serviceAccount.create=false", "serviceAccount.name=mine"},
	"no network policies":                  {"networkPolicy.enabled=false"},
	"narrow network policies":              {"networkPolicy.egress[0].ports[0].port=443", "networkPolicy.metricsFrom[0].podSelector.matchLabels.app=prometheus", "networkPolicy.gatewayFrom[0].podSelector.matchLabels.app=proxy", "web.enabled=true"},
	"the web page":                         {"web.enabled=true"},
	"the web page with a load balancer":    {"web.enabled=true", "web.service.type=LoadBalancer", "web.service.port=443", "web.tlsElsewhere=true"},
	"the web page with an ingress":         with(page, []string{"web.ingress.className=nginx", "web.ingress.annotations.a=b"}),
	"the web page behind a proxy with TLS": {"web.enabled=true", "web.ingress.enabled=true", "web.ingress.host=nestor.example.com", "web.tlsElsewhere=true"},
	"the gateway":                          {"gateway.enabled=true"},
	"the gateway with a load balancer":     {"gateway.enabled=true", "gateway.service.type=LoadBalancer", "gateway.service.port=8443", "gateway.service.annotations.a=b", "networkPolicy.gatewayFrom[0].podSelector.matchLabels.app=client"},
	"a gateway with a certificate":         {"gateway.enabled=true", "gateway.tlsSecretName=public", "gateway.replicas=2", "networkPolicy.gatewayEgress[0].ports[0].port=443"},
	"a provider without a key":             provider,
	"a provider with a key":                with(provider, []string{"modelProvider.apiKey=secret", "modelProvider.defaultModel=large"}),
	"a provider with a Secret":             with(provider, []string{"modelProvider.existingSecret.name=key", "modelProvider.name=shared"}),
	"a provider with limits":               with(provider, []string{"modelProvider.spec.maxConcurrentRequests=5", "modelProvider.spec.allowedNamespaces.from=Same"}),
	"a service monitor":                    {"metrics.serviceMonitor.enabled=true", "metrics.serviceMonitor.labels.release=prometheus"},
	"alerts and a dashboard":               {"metrics.prometheusRule.enabled=true", "metrics.dashboard.enabled=true"},
	"traces":                               {"telemetry.endpoint=http://collector.monitoring:4318", "telemetry.captureContent=true"},
	"an image by its digest":               {"image.registry=registry.example", "image.digest=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
	"images that need a password":          {"imagePullSecrets[0].name=registry", "image.pullPolicy=Always", "image.tag=v2"},
	"scheduling of pods":                   {"nodeSelector.pool=system", "tolerations[0].key=system", "tolerations[0].operator=Exists", "priorityClassName=system-cluster-critical", "podLabels.a=b", "podAnnotations.c=d"},
	"no limits":                            {"resources=null"},
	"more flags and variables":             {"extraArgs={--kube-api-qps=1000}", "extraEnv[0].name=HTTPS_PROXY", "extraEnv[0].value=http://proxy.example:3128", "log.level=debug"},
	"a provider with a URL of its own":     {"modelProvider.create=true", "modelProvider.spec.api=Anthropic", "modelProvider.existingSecret.name=anthropic"},
	"keys in files":                        {"extraArgs={--api-key-dir=/keys}", "extraVolumes[0].name=keys", "extraVolumes[0].secret.secretName=keys", "extraVolumeMounts[0].name=keys", "extraVolumeMounts[0].mountPath=/keys/team-a", "extraVolumeMounts[0].readOnly=true"},
	"other names":                          {"fullnameOverride=agents", "serviceAccount.annotations.a=b"},
	"a name that is too long":              {"fullnameOverride=this-is-a-very-long-name-for-an-operator-of-agents"},
	"everything at once":                   with(postgres, page, provider, few, []string{"replicas=2", "modelProvider.apiKey=secret"}),
}

var _ = Describe("Values that are accepted", func() {
	for name, values := range accepted {
		It("give objects that the API server accepts: "+name, func(ctx SpecContext) {
			objects := rendered(ctx, values...)
			for _, object := range objects {
				expectAccepted(ctx, object)
			}
			for _, pod := range pods(objects) {
				Expect(api.Create(ctx, pod, client.DryRunAll)).To(Succeed(), "the pod in a namespace for restricted ones")
			}
		})
	}

	It("are those of the examples, too", func(ctx SpecContext) {
		examples, err := filepath.Glob(filepath.Join(root, "charts", "nestor", "examples", "*.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(len(examples)).To(BeNumerically(">=", 2))
		for _, example := range examples {
			text, err := run(ctx, helmPath, "template", "nestor", "charts/nestor", "--namespace", release, "--values", filepath.Join("charts", "nestor", "examples", filepath.Base(example)))
			Expect(err).NotTo(HaveOccurred(), example)
			objects, err := parse(text)
			Expect(err).NotTo(HaveOccurred(), example)
			Expect(find(objects, "PodDisruptionBudget", "nestor-operator")).NotTo(BeNil(), "%s has several replicas", example)
			for _, object := range objects {
				expectAccepted(ctx, object)
			}
		}
	})

	It("would not pass if pods were not restricted", func(ctx SpecContext) {
		found := pods(rendered(ctx))
		Expect(found).To(HaveLen(2), "the operator and the test")
		for _, pod := range found {
			pod.Spec.Containers[0].SecurityContext = nil
			Expect(apierrors.IsForbidden(api.Create(ctx, pod, client.DryRunAll))).To(BeTrue())
		}
	})

	It("are those of the definitions, too", func(ctx SpecContext) {
		for _, values := range [][]string{nil, {"keep=false", "annotations.example\\.com/a=b: c"}} {
			objects, err := render(ctx, "nestor-crds", values...)
			Expect(err).NotTo(HaveOccurred())
			Expect(objects).To(HaveLen(11))
			for _, object := range objects {
				expectAccepted(ctx, object)
				if values == nil {
					Expect(object.GetAnnotations()).To(HaveKeyWithValue("helm.sh/resource-policy", "keep"))
				} else {
					Expect(object.GetAnnotations()).NotTo(HaveKey("helm.sh/resource-policy"))
					Expect(object.GetAnnotations()).To(HaveKeyWithValue("example.com/a", "b: c"))
				}
			}
		}
	})
})

// validated has the objects that the API server has accepted, as JSON: most are the same with all values.
var validated = map[string]bool{}

// expectAccepted validates an object with the API server, which only lacks the Prometheus operator's kinds.
func expectAccepted(ctx context.Context, object *unstructured.Unstructured) {
	GinkgoHelper()
	if object.GroupVersionKind().Group == "monitoring.coreos.com" {
		return
	}
	text, err := object.MarshalJSON()
	Expect(err).NotTo(HaveOccurred())
	if validated[string(text)] {
		return
	}
	err = api.Apply(ctx, client.ApplyConfigurationFromUnstructured(object.DeepCopy()), client.DryRunAll, client.ForceOwnership, client.FieldOwner("suite"))
	Expect(err).NotTo(HaveOccurred(), "%s %s", object.GetKind(), object.GetName())
	validated[string(text)] = true
}

func pods(objects []*unstructured.Unstructured) []*corev1.Pod {
	GinkgoHelper()
	var found []*corev1.Pod
	for _, object := range objects {
		pod := &corev1.Pod{}
		switch object.GetKind() {
		case "Pod":
			Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, pod)).To(Succeed())
		case "Deployment":
			deployment := &appsv1.Deployment{}
			Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, deployment)).To(Succeed())
			pod.ObjectMeta, pod.Spec = deployment.Spec.Template.ObjectMeta, deployment.Spec.Template.Spec
			pod.ObjectMeta = metav1.ObjectMeta{Namespace: deployment.Namespace, Name: deployment.Name, Labels: pod.Labels, Annotations: pod.Annotations}
		default:
			continue
		}
		found = append(found, pod)
	}
	return found
}
