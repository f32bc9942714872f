// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = DescribeTable("Values that are refused", func(ctx SpecContext, message string, values []string) {
	_, err := render(ctx, "nestor", values...)
	Expect(err).To(MatchError(ContainSubstring(message)))
},
	Entry("several replicas on SQLite", "set replicas to 1, or ledger.postgres.existingSecret to use PostgreSQL", []string{"replicas=2"}),
	Entry("autoscaling on SQLite", "autoscaling.enabled is true, but a SQLite ledger", []string{"autoscaling.enabled=true"}),
	Entry("more replicas than shards", "5 replicas share 4 shards", with(postgres, []string{"replicas=5", "extraArgs={--shards=4}"})),
	Entry("an autoscaler with more replicas than shards", "set --shards=6 or more in extraArgs", with(postgres, []string{"autoscaling.enabled=true", "extraArgs={--shards=4}"})),
	Entry("an autoscaler with less than its minimum", "autoscaling.minReplicas is greater", with(postgres, []string{"autoscaling.enabled=true", "autoscaling.minReplicas=7"})),
	Entry("a disruption budget that forbids all drains", "at '/podDisruptionBudget/maxUnavailable'", with(postgres, []string{"replicas=3", "podDisruptionBudget.maxUnavailable=0"})),
	Entry("no replicas", "at '/replicas': minimum: got 0, want 1", []string{"replicas=0"}),
	Entry("a value of an older release", "additional properties 'type' not allowed", []string{"ledger.type=postgres"}),
	Entry("a ledger in two places", "choose one", []string{"ledger.sqlite.volume=Ephemeral", "ledger.sqlite.existingClaim=x"}),
	Entry("an invalid volume size", "at '/ledger/sqlite/size'", []string{"ledger.sqlite.size=much"}),
	Entry("no service account", "name the operator's service account", []string{"serviceAccount.create=false"}),
	Entry("an ingress without the web page", "set web.enabled", []string{"web.ingress.enabled=true"}),
	Entry("an ingress without a host", "set web.ingress.host", []string{"web.enabled=true", "web.ingress.enabled=true"}),
	Entry("an ingress without TLS", "it must be reached over TLS", []string{"web.enabled=true", "web.ingress.enabled=true", "web.ingress.host=x.example"}),
	Entry("an issuer without a client", "web.oidc.clientID", []string{"web.enabled=true", "web.url=https://x.example", "web.oidc.issuer=https://login.example"}),
	Entry("a gateway without the history API", "set history.enabled", []string{"gateway.enabled=true", "history.enabled=false"}),
	Entry("triggers that watch Secrets", "triggers.watch must not contain secrets", []string{"triggers.watch[0].apiGroups={\"\"}", "triggers.watch[0].resources={pods,secrets}"}),
	Entry("triggers that watch everything", "triggers.watch must not contain *", []string{"triggers.watch[0].apiGroups={apps}", "triggers.watch[0].resources={*}"}),
	Entry("triggers that watch a subresource", "triggers.watch must not contain pods/log", []string{"triggers.watch[0].apiGroups={\"\"}", "triggers.watch[0].resources={pods/log}"}),
	Entry("triggers that watch nothing", "at '/triggers/watch/0'", []string{"triggers.watch[0].apiGroups={apps}"}),
	Entry("a load balancer without TLS", "which a Service of type LoadBalancer does not speak", []string{"web.enabled=true", "web.service.type=LoadBalancer"}),
	Entry("a port of the nodes without TLS", "which a Service of type NodePort does not speak", []string{"web.enabled=true", "web.service.type=NodePort"}),
	Entry("a monitor without metrics", "set metrics.enabled", []string{"metrics.enabled=false", "metrics.serviceMonitor.enabled=true"}),
	Entry("alerts without metrics", "set metrics.enabled", []string{"metrics.enabled=false", "metrics.prometheusRule.enabled=true"}),
	Entry("content capture without an endpoint", "set telemetry.endpoint", []string{"telemetry.captureContent=true"}),
	Entry("a provider without a URL", "set modelProvider.baseURL", []string{"modelProvider.create=true"}),
	Entry("a provider with an API that does not exist", "at '/modelProvider/spec/api'", []string{"modelProvider.create=true", "modelProvider.spec.api=Cohere"}),
	Entry("a provider with an invalid URL", "at '/modelProvider/baseURL'", []string{"modelProvider.create=true", "modelProvider.baseURL=models.example.com"}),
	Entry("two keys", "both give the key: choose one", []string{"modelProvider.create=true", "modelProvider.baseURL=http://x/v1", "modelProvider.apiKey=a", "modelProvider.existingSecret.name=b"}),
	Entry("a key without a provider", "set modelProvider.create", []string{"modelProvider.apiKey=a"}),
	Entry("an invalid namespace name", "at '/watchNamespaces/0'", []string{"watchNamespaces={Team A}"}),
	Entry("a misspelt value", "additional properties 'replica' not allowed", []string{"replica=2"}),
	Entry("a misspelt value inside", "additional properties 'kind' not allowed", []string{"ledger.kind=postgres"}),
	Entry("an invalid quota size", "at '/ledger/namespaceQuota'", []string{"ledger.namespaceQuota=plenty"}),
	Entry("an invalid retention", "at '/ledger/callRetention'", []string{"ledger.callRetention=30d"}),
	Entry("a flag without dashes", "at '/extraArgs/0'", []string{"extraArgs={kube-api-qps=1}"}),
	Entry("a built-in role that does not exist", "builtInRoles.omit names cook, which is not a built-in role", []string{"builtInRoles.omit={coder,cook}"}),
	Entry("a starter policy that does not exist", "policies.starter.names has careful, which is not a starter policy", []string{"policies.starter.names={careful}"}),
	Entry("an invalid digest", "at '/image/digest'", []string{"image.digest=latest"}),
)
