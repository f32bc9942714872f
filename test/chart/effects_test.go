// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chart_test

// Objects and fields that several values change.
const (
	operatorObject = "Deployment nestor-operator"
	gatewayObject  = "Deployment nestor-gateway"
	operatorPolicy = "NetworkPolicy nestor-operator"
	gatewayPolicy  = "NetworkPolicy nestor-gateway"
	providerObject = "ModelProvider default"
	claimObject    = "PersistentVolumeClaim nestor-ledger"
	monitorObject  = "ServiceMonitor nestor-operator"
	webService     = "Service nestor-web"
	gatewayService = "Service nestor-gateway"
	ingressObject  = "Ingress nestor-web"
	autoscaler     = "HorizontalPodAutoscaler nestor-operator"
	budget         = "PodDisruptionBudget nestor-operator"
	starterPolicy  = "ToolPolicy untrusted-writes"
	name           = ".metadata.name"
	flags          = ".spec.template.spec.containers[0].args"
	variables      = ".spec.template.spec.containers[0].env"
	image          = ".spec.template.spec.containers[0].image"
	digest         = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	monitorOn      = "metrics.serviceMonitor.enabled=true"
	gatewayOn      = "gateway.enabled=true"
	webOn          = "web.enabled=true"
	autoscalingOn  = "autoscaling.enabled=true"
	starterOn      = "policies.starter.names={untrusted-writes}"
)

var oidc = []string{webOn, "web.url=https://x.example", "web.oidc.issuer=https://login.example", "web.oidc.clientID=nestor", "web.oidc.existingSecret=oidc"}

var effects = map[string]effect{
	"fullnameOverride": {set: "fullnameOverride=other", object: "Deployment other-operator", path: name, shows: "other"},

	"image.registry":    {set: "image.registry=registry.example", object: operatorObject, path: image, shows: "registry.example/nestor-dev/nestor-operator"},
	"image.tag":         {given: []string{gatewayOn}, set: "image.tag=v9", object: gatewayObject, path: image, shows: "nestor-gateway:v9"},
	"image.repository":  {set: "image.repository=mine/operator", object: operatorObject, path: image, shows: "mine/operator:"},
	"image.digest":      {set: "image.digest=" + digest, object: operatorObject, path: image, shows: "@" + digest},
	"image.pullPolicy":  {set: "image.pullPolicy=Always", object: operatorObject, path: ".spec.template.spec.containers[0].imagePullPolicy", shows: "Always"},
	"imagePullSecrets":  {set: "imagePullSecrets[0].name=mine", object: operatorObject, path: ".spec.template.spec.imagePullSecrets", shows: "mine"},
	"workspace.enabled": {set: "workspace.enabled=false", object: operatorObject, path: flags, shows: "--workspace-image=", gone: true},

	"workspace.image.repository": {set: "workspace.image.repository=mine/workspace", object: operatorObject, path: flags, shows: "--workspace-image=mine/workspace:"},
	"workspace.image.digest":     {set: "workspace.image.digest=" + digest, object: operatorObject, path: flags, shows: "nestor-workspace@" + digest},
	"workspace.allow.nodeSelector": {
		set: "workspace.allow.nodeSelector.pool[0]=agents", object: operatorObject, path: flags, shows: "agents",
	},
	"workspace.allow.runtimeClassNames": {
		set: "workspace.allow.runtimeClassNames[0]=gvisor", object: operatorObject, path: flags, shows: "gvisor",
	},
	"workspace.allow.tolerations": {
		set: "workspace.allow.tolerations[0].key=dedicated", object: operatorObject, path: flags, shows: "dedicated",
	},
	"workspace.maxSize":           {set: "workspace.maxSize=5Gi", object: operatorObject, path: flags, shows: "--workspace-max-size=5Gi"},
	"workspace.egress":            {set: "workspace.egress[0].ports[0].port=53", object: operatorObject, path: flags, shows: "--workspace-egress="},
	"workspace.privateGitServers": {set: "workspace.privateGitServers={gitea.dev.svc}", object: operatorObject, path: flags, shows: "--workspace-private-git-servers=gitea.dev.svc"},

	"replicas":                {given: postgres, set: "replicas=3", object: operatorObject, path: ".spec.replicas", shows: "3"},
	"autoscaling.enabled":     {given: postgres, set: autoscalingOn, object: autoscaler, path: name, shows: "nestor-operator"},
	"autoscaling.minReplicas": {given: with(postgres, []string{autoscalingOn}), set: "autoscaling.minReplicas=3", object: autoscaler, path: ".spec.minReplicas", shows: "3"},
	"autoscaling.maxReplicas": {given: with(postgres, []string{autoscalingOn}), set: "autoscaling.maxReplicas=9", object: autoscaler, path: ".spec.maxReplicas", shows: "9"},
	"autoscaling.metrics":     {given: with(postgres, []string{autoscalingOn}), set: "autoscaling.metrics[0].resource.target.averageValue=500m", object: autoscaler, path: ".spec.metrics", shows: "500m"},

	"ledger.sqlite.size":             {set: "ledger.sqlite.size=3Gi", object: claimObject, path: ".spec.resources.requests.storage", shows: "3Gi"},
	"ledger.sqlite.storageClassName": {set: "ledger.sqlite.storageClassName=fast", object: claimObject, path: ".spec.storageClassName", shows: "fast"},
	"ledger.sqlite.accessModes":      {set: "ledger.sqlite.accessModes={ReadWriteOncePod}", object: claimObject, path: ".spec.accessModes", shows: "ReadWriteOncePod"},
	"ledger.sqlite.existingClaim":    {set: "ledger.sqlite.existingClaim=mine", object: operatorObject, path: ".spec.template.spec.volumes", shows: `"claimName":"mine"`},
	"ledger.sqlite.volume":           {set: "ledger.sqlite.volume=Delete", object: claimObject, path: ".metadata.annotations", shows: "keep", gone: true},
	"ledger.postgres.existingSecret": {set: "ledger.postgres.existingSecret=database", object: operatorObject, path: variables, shows: `"name":"database"`},
	"ledger.postgres.key":            {given: postgres, set: "ledger.postgres.key=dsn", object: operatorObject, path: variables, shows: `"key":"dsn"`},
	"ledger.retention":               {set: "ledger.retention=24h", object: operatorObject, path: flags, shows: "-retention=24h"},
	"ledger.callRetention":           {set: "ledger.callRetention=12h", object: operatorObject, path: flags, shows: "call-retention=12h"},
	"ledger.search":                  {set: "ledger.search=true", object: operatorObject, path: flags, shows: "--ledger-search"},
	"ledger.namespaceQuota":          {set: "ledger.namespaceQuota=1Gi", object: operatorObject, path: flags, shows: "--ledger-namespace-quota=1Gi"},

	"watchNamespaces":            {set: "watchNamespaces={team-a}", object: operatorObject, path: flags, shows: "--namespaces=team-a"},
	"serviceAccount.create":      {given: []string{"serviceAccount.name=mine"}, set: "serviceAccount.create=false", object: "ServiceAccount mine", path: name, shows: "mine", gone: true},
	"serviceAccount.name":        {set: "serviceAccount.name=mine", object: operatorObject, path: ".spec.template.spec.serviceAccountName", shows: "mine"},
	"serviceAccount.annotations": {set: "serviceAccount.annotations.a=b", object: "ServiceAccount nestor-operator", path: ".metadata.annotations", shows: `"a":"b"`},
	"rbac.create":                {set: "rbac.create=false", object: "ClusterRole nestor-operator", path: name, shows: "nestor-operator", gone: true},
	"rbac.userRoles.create":      {set: "rbac.userRoles.create=false", object: "ClusterRole nestor-viewer", path: name, shows: "nestor-viewer", gone: true},
	"rbac.userRoles.aggregate":   {set: "rbac.userRoles.aggregate=false", object: "ClusterRole nestor-viewer", path: ".metadata.labels", shows: "aggregate-to-view", gone: true},
	"builtInRoles.omit":          {set: "builtInRoles.omit={coder}", object: "AgentRole coder", path: name, shows: "coder", gone: true},
	"policies.enabled":           {set: "policies.enabled=false", object: "ValidatingAdmissionPolicy nestor-agenttasks", path: name, shows: "nestor-agenttasks", gone: true},
	"policies.exemptUsers":       {set: "policies.exemptUsers={velero}", object: "ValidatingAdmissionPolicy nestor-agenttasks", path: ".spec.matchConditions", shows: "velero"},
	"policies.starter.names":     {set: "policies.starter.names={untrusted-writes}", object: starterPolicy, path: name, shows: "untrusted-writes"},
	"policies.starter.mode":      {given: []string{starterOn}, set: "policies.starter.mode=Audit", object: starterPolicy, path: ".spec.mode", shows: "Audit"},
	"history.enabled":            {set: "history.enabled=false", object: "APIService v1beta1.history.nestor.dev", path: name, shows: "history", gone: true},
	"admission.enabled":          {set: "admission.enabled=false", object: operatorObject, path: flags, shows: "--admission-bind-address", gone: true},

	"web.enabled":               {set: webOn, object: webService, path: name, shows: "nestor-web"},
	"web.tlsElsewhere":          {given: []string{webOn}, set: "web.tlsElsewhere=true,web.service.type=LoadBalancer", object: webService, path: ".spec.type", shows: "LoadBalancer"},
	"gateway.url":               {given: []string{webOn, gatewayOn}, set: "gateway.url=https://agents.example.com", object: gatewayObject, path: flags, shows: "--gateway-url=https://agents.example.com"},
	"web.url":                   {given: []string{webOn}, set: "web.url=https://y.example", object: gatewayObject, path: flags, shows: "--web-url=https://y.example"},
	"web.oidc.issuer":           {given: oidc, set: "web.oidc.issuer=https://other.example", object: gatewayObject, path: flags, shows: "--web-oidc-issuer=https://other.example"},
	"web.oidc.clientID":         {given: oidc, set: "web.oidc.clientID=other", object: gatewayObject, path: flags, shows: "--web-oidc-client-id=other"},
	"web.oidc.existingSecret":   {given: oidc, set: "web.oidc.existingSecret=other", object: gatewayObject, path: ".spec.template.spec.volumes", shows: `"secretName":"other"`},
	"web.oidc.scopes":           {given: oidc, set: "web.oidc.scopes={openid,groups}", object: gatewayObject, path: flags, shows: "--web-oidc-scopes=openid,groups"},
	"web.oidc.sessionLength":    {given: oidc, set: "web.oidc.sessionLength=1h", object: gatewayObject, path: flags, shows: "--web-session-length=1h"},
	"web.service.type":          {given: []string{webOn, "web.tlsElsewhere=true"}, set: "web.service.type=NodePort", object: webService, path: ".spec.type", shows: "NodePort"},
	"web.service.port":          {given: []string{webOn}, set: "web.service.port=8080", object: webService, path: ".spec.ports[0].port", shows: "8080"},
	"web.service.annotations":   {given: []string{webOn}, set: "web.service.annotations.a=b", object: webService, path: ".metadata.annotations", shows: `"a":"b"`},
	"web.ingress.enabled":       {given: []string{webOn, "web.ingress.host=x.example", "web.tlsElsewhere=true"}, set: "web.ingress.enabled=true", object: ingressObject, path: name, shows: "nestor-web"},
	"web.ingress.className":     {given: page, set: "web.ingress.className=nginx", object: ingressObject, path: ".spec.ingressClassName", shows: "nginx"},
	"web.ingress.annotations":   {given: page, set: "web.ingress.annotations.a=b", object: ingressObject, path: ".metadata.annotations", shows: `"a":"b"`},
	"web.ingress.host":          {given: page, set: "web.ingress.host=y.example", object: ingressObject, path: ".spec.rules[0].host", shows: "y.example"},
	"web.ingress.tlsSecretName": {given: page, set: "web.ingress.tlsSecretName=other", object: ingressObject, path: ".spec.tls", shows: "other"},

	"gateway.enabled":             {set: gatewayOn, object: gatewayObject, path: name, shows: "nestor-gateway"},
	"gateway.image.repository":    {given: []string{gatewayOn}, set: "gateway.image.repository=mine/gateway", object: gatewayObject, path: image, shows: "mine/gateway:"},
	"gateway.image.digest":        {given: []string{gatewayOn}, set: "gateway.image.digest=" + digest, object: gatewayObject, path: image, shows: "@" + digest},
	"gateway.replicas":            {given: []string{gatewayOn}, set: "gateway.replicas=3", object: gatewayObject, path: ".spec.replicas", shows: "3"},
	"gateway.tlsSecretName":       {given: []string{gatewayOn}, set: "gateway.tlsSecretName=public", object: gatewayObject, path: ".spec.template.spec.volumes", shows: `"name":"public"`},
	"gateway.resources":           {given: []string{gatewayOn}, set: "gateway.resources.limits.memory=1Gi", object: gatewayObject, path: ".spec.template.spec.containers[0].resources", shows: "1Gi"},
	"gateway.extraArgs":           {given: []string{gatewayOn}, set: "gateway.extraArgs={--gateway-max-requests=9}", object: gatewayObject, path: flags, shows: "--gateway-max-requests=9"},
	"gateway.pushNetworks":        {given: []string{gatewayOn}, set: "gateway.pushNetworks={10.1.0.0/16}", object: operatorObject, path: flags, shows: "--push-networks=10.1.0.0/16"},
	"gateway.service.type":        {given: []string{gatewayOn}, set: "gateway.service.type=LoadBalancer", object: gatewayService, path: ".spec.type", shows: "LoadBalancer"},
	"gateway.service.port":        {given: []string{gatewayOn}, set: "gateway.service.port=8443", object: gatewayService, path: ".spec.ports[0].port", shows: "8443"},
	"gateway.service.annotations": {given: []string{gatewayOn}, set: "gateway.service.annotations.a=b", object: gatewayService, path: ".metadata.annotations", shows: `"a":"b"`},

	"triggers.watch": {set: `triggers.watch[0].apiGroups={apps},triggers.watch[0].resources={deployments}`, object: "ClusterRole nestor-operator", path: ".rules", shows: "deployments"},

	"metrics.enabled":                {set: "metrics.enabled=false", object: "Service nestor-metrics", path: name, shows: "nestor-metrics", gone: true},
	"metrics.insecure":               {set: "metrics.insecure=true", object: operatorObject, path: flags, shows: "--metrics-insecure"},
	"metrics.serviceMonitor.enabled": {set: monitorOn, object: monitorObject, path: name, shows: "nestor-operator"},
	"metrics.serviceMonitor.labels":  {given: []string{monitorOn}, set: "metrics.serviceMonitor.labels.a=b", object: monitorObject, path: ".metadata.labels", shows: `"a":"b"`},
	"metrics.prometheusRule.enabled": {set: "metrics.prometheusRule.enabled=true", object: "PrometheusRule nestor-operator", path: name, shows: "nestor-operator"},
	"metrics.prometheusRule.labels":  {given: []string{"metrics.prometheusRule.enabled=true"}, set: "metrics.prometheusRule.labels.a=b", object: "PrometheusRule nestor-operator", path: ".metadata.labels", shows: `"a":"b"`},
	"metrics.dashboard.enabled":      {set: "metrics.dashboard.enabled=true", object: "ConfigMap nestor-dashboard", path: name, shows: "nestor-dashboard"},
	"metrics.dashboard.labels":       {given: []string{"metrics.dashboard.enabled=true"}, set: "metrics.dashboard.labels.a=b", object: "ConfigMap nestor-dashboard", path: ".metadata.labels", shows: `"a":"b"`},
	"telemetry.endpoint":             {set: "telemetry.endpoint=http://collector:4318", object: operatorObject, path: variables, shows: "http://collector:4318"},
	"telemetry.captureContent":       {given: []string{"telemetry.endpoint=http://collector:4318"}, set: "telemetry.captureContent=true", object: operatorObject, path: variables, shows: "CAPTURE_MESSAGE_CONTENT"},

	"networkPolicy.enabled":              {set: "networkPolicy.enabled=false", object: operatorPolicy, path: name, shows: "nestor-operator", gone: true},
	"networkPolicy.metricsFrom":          {set: "networkPolicy.metricsFrom[0].podSelector.matchLabels.app=prometheus", object: operatorPolicy, path: ".spec.ingress", shows: "prometheus"},
	"networkPolicy.gatewayFrom":          {given: []string{webOn}, set: "networkPolicy.gatewayFrom[0].podSelector.matchLabels.app=proxy", object: gatewayPolicy, path: ".spec.ingress", shows: "proxy"},
	"networkPolicy.gatewayEgress":        {given: []string{gatewayOn}, set: "networkPolicy.gatewayEgress[0].ports[0].port=6443", object: gatewayPolicy, path: ".spec.egress", shows: "6443"},
	"networkPolicy.egress":               {set: "networkPolicy.egress[0].ports[0].port=443", object: operatorPolicy, path: ".spec.egress", shows: "443"},
	"podDisruptionBudget.enabled":        {given: with(postgres, []string{"replicas=3"}), set: "podDisruptionBudget.enabled=false", object: budget, path: name, shows: "nestor-operator", gone: true},
	"podDisruptionBudget.maxUnavailable": {given: with(postgres, []string{"replicas=3"}), set: "podDisruptionBudget.maxUnavailable=50%", object: budget, path: ".spec.maxUnavailable", shows: "50%"},

	"modelProvider.create":              {given: []string{"modelProvider.baseURL=https://x/v1"}, set: "modelProvider.create=true", object: providerObject, path: name, shows: "default"},
	"modelProvider.name":                {given: provider, set: "modelProvider.name=shared", object: "ModelProvider shared", path: name, shows: "shared"},
	"modelProvider.baseURL":             {given: provider, set: "modelProvider.baseURL=https://other/v1", object: providerObject, path: ".spec.baseURL", shows: "https://other/v1"},
	"modelProvider.defaultModel":        {given: provider, set: "modelProvider.defaultModel=large", object: providerObject, path: ".spec.defaultModel", shows: "large"},
	"modelProvider.apiKey":              {given: provider, set: "modelProvider.apiKey=secret", object: "Secret nestor-model-default", path: ".stringData", shows: "secret"},
	"modelProvider.existingSecret.name": {given: provider, set: "modelProvider.existingSecret.name=mine", object: providerObject, path: ".spec.apiKeyRef", shows: "mine"},
	"modelProvider.existingSecret.key":  {given: with(provider, []string{"modelProvider.existingSecret.name=mine"}), set: "modelProvider.existingSecret.key=token", object: providerObject, path: ".spec.apiKeyRef", shows: "token"},
	"modelProvider.spec":                {given: provider, set: "modelProvider.spec.allowedNamespaces.from=Same", object: providerObject, path: ".spec.allowedNamespaces", shows: "Same"},

	"log.level":         {set: "log.level=debug", object: operatorObject, path: flags, shows: "--log-level=debug"},
	"extraArgs":         {set: "extraArgs={--kube-api-qps=9}", object: operatorObject, path: flags, shows: "--kube-api-qps=9"},
	"extraEnv":          {set: "extraEnv[0].name=HTTPS_PROXY", object: operatorObject, path: variables, shows: "HTTPS_PROXY"},
	"extraVolumes":      {set: "extraVolumes[0].name=keys", object: operatorObject, path: ".spec.template.spec.volumes", shows: "keys"},
	"extraVolumeMounts": {set: "extraVolumeMounts[0].name=keys,extraVolumeMounts[0].mountPath=/keys", object: operatorObject, path: ".spec.template.spec.containers[0].volumeMounts", shows: "/keys"},
	"resources":         {set: "resources.limits.memory=7Gi", object: operatorObject, path: ".spec.template.spec.containers[0].resources", shows: "7Gi"},
	"nodeSelector":      {set: "nodeSelector.pool=system", object: operatorObject, path: ".spec.template.spec.nodeSelector", shows: "system"},
	"tolerations":       {set: "tolerations[0].key=system", object: operatorObject, path: ".spec.template.spec.tolerations", shows: "system"},
	"affinity":          {set: "affinity.podAntiAffinity.x=y", object: operatorObject, path: ".spec.template.spec.affinity", shows: "podAntiAffinity"},
	"topologySpreadConstraints": {set: "topologySpreadConstraints[0].topologyKey=rack", object: operatorObject,
		path: ".spec.template.spec.topologySpreadConstraints", shows: "rack"},
	"priorityClassName": {set: "priorityClassName=high", object: operatorObject, path: ".spec.template.spec.priorityClassName", shows: "high"},
	"podLabels":         {set: "podLabels.a=b", object: operatorObject, path: ".spec.template.metadata.labels", shows: `"a":"b"`},
	"podAnnotations":    {set: "podAnnotations.a=b", object: operatorObject, path: ".spec.template.metadata.annotations", shows: `"a":"b"`},
}
