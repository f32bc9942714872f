{{- /* The operator's flags. */}}
{{- define "nestor.args" -}}
{{- if not (include "nestor.postgres" .) -}}
- --ledger=sqlite:/var/lib/nestor/ledger.db
{{ end -}}
{{- if include "nestor.postgres" . -}}
- --replica-bind-address=:9443
{{ end -}}
- --name={{ include "nestor.fullname" . }}
- --health-probe-bind-address=:8081
{{- if .Values.metrics.enabled }}
- --metrics-bind-address=:8080
{{- if .Values.metrics.insecure }}
- --metrics-insecure
{{- end }}
{{- end }}
{{- if .Values.history.enabled }}
- --history-bind-address=:8443
{{- end }}
{{- if and .Values.admission.enabled .Values.history.enabled }}
- --admission-bind-address=:9445
{{- end }}
{{- if .Values.gateway.enabled }}
- --intake-bind-address=:9444
{{- if not .Values.gateway.tlsSecretName }}
- --gateway-cert-secret={{ include "nestor.gatewayName" . }}-cert
{{- end }}
{{- end }}
{{- with .Values.gateway.pushNetworks }}
- --push-networks={{ join "," . }}
{{- end }}
{{- with include "nestor.webURL" . }}
- --web-url={{ . }}
{{- end }}
{{- with .Values.ledger.retention }}
- --history-retention={{ . }}
{{- end }}
{{- with .Values.ledger.callRetention }}
- --call-retention={{ . }}
{{- end }}
{{- with .Values.ledger.namespaceQuota }}
- --ledger-namespace-quota={{ . }}
{{- end }}
{{- if .Values.ledger.search }}
- --ledger-search
{{- end }}
{{- with .Values.watchNamespaces }}
- --namespaces={{ join "," . }}
{{- end }}
{{- if .Values.workspace.enabled }}
- --workspace-image={{ include "nestor.image" (dict "root" . "image" .Values.workspace.image) }}
- --workspace-max-size={{ .Values.workspace.maxSize }}
{{- with .Values.workspace.egress }}
- {{ printf "--workspace-egress=%s" (toJson .) | quote }}
{{- end }}
{{- with .Values.workspace.privateGitServers }}
- --workspace-private-git-servers={{ join "," . }}
{{- end }}
{{- with .Values.workspace.allow }}
{{- if or .runtimeClassNames .nodeSelector .tolerations }}
- {{ printf "--workspace-allow=%s" (toJson .) | quote }}
{{- end }}
{{- end }}
- --operator-labels={{ include "nestor.operatorLabels" . }}
{{- end }}
- --log-level={{ .Values.log.level }}
- --log-format=json
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* The labels by which the network policies of workspaces know the operator. */}}
{{- define "nestor.operatorLabels" -}}
{{- $pairs := list }}
{{- range $name, $value := include "nestor.selectorLabels" . | fromYaml }}
{{- $pairs = append $pairs (printf "%s=%s" $name $value) }}
{{- end }}
{{- join "," $pairs }}
{{- end }}

{{- define "nestor.env" -}}
- name: POD_NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
# The name of this replica, and where the others reach it.
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: POD_IP
  valueFrom: {fieldRef: {fieldPath: status.podIP}}
{{- if dig "limits" "memory" "" (default dict .Values.resources) }}
- name: GOMEMLIMIT
  valueFrom: {resourceFieldRef: {containerName: operator, resource: limits.memory}}
{{- end }}
{{- if include "nestor.postgres" . }}
- name: NESTOR_LEDGER
  valueFrom: {secretKeyRef: {name: {{ .Values.ledger.postgres.existingSecret }}, key: {{ .Values.ledger.postgres.key }}}}
{{- end }}
{{- with .Values.telemetry.endpoint }}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ . | quote }}
{{- end }}
{{- if .Values.telemetry.captureContent }}
- name: OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT
  value: "true"
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* "true" if there may be several replicas, and empty otherwise. */}}
{{- define "nestor.several" -}}
{{- if or .Values.autoscaling.enabled (gt (int .Values.replicas) 1) }}true{{ end }}
{{- end }}

{{- define "nestor.spread" -}}
{{- if .Values.topologySpreadConstraints -}}
{{ toYaml .Values.topologySpreadConstraints }}
{{- else -}}
{{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
- maxSkew: 1
  topologyKey: {{ $key }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "nestor.selectorLabels" $ | nindent 6 }}
{{- end }}
{{- end }}
{{- end }}

{{- /* What the restricted Pod Security Standard asks for. */}}
{{- define "nestor.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "nestor.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- /* Who may read the metrics of a pod. */}}
{{- define "nestor.metricsIngress" -}}
{{- if .Values.metrics.enabled -}}
- ports: [{port: metrics, protocol: TCP}]
  from:
    {{- if .Values.networkPolicy.metricsFrom }}
    {{- toYaml .Values.networkPolicy.metricsFrom | nindent 4 }}
    {{- else }}
    - namespaceSelector: {}
    {{- end }}
{{- end }}
{{- end }}
