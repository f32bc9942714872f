{{- define "nestor.name" -}}
{{- .Chart.Name }}
{{- end }}

{{- define "nestor.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains (include "nestor.name" .) .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "nestor.name" .) | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "nestor.operatorName" -}}
{{ include "nestor.fullname" . }}-operator
{{- end }}

{{- define "nestor.historyName" -}}
{{ include "nestor.fullname" . }}-history
{{- end }}

{{- define "nestor.webName" -}}
{{ include "nestor.fullname" . }}-web
{{- end }}

{{- define "nestor.gatewayName" -}}
{{ include "nestor.fullname" . }}-gateway
{{- end }}

{{- define "nestor.testName" -}}
{{ include "nestor.fullname" . }}-test
{{- end }}

{{- define "nestor.claimName" -}}
{{- default (printf "%s-ledger" (include "nestor.fullname" .)) .Values.ledger.sqlite.existingClaim }}
{{- end }}

{{- /* "true" if the ledger is in PostgreSQL, and empty otherwise. */}}
{{- define "nestor.postgres" -}}
{{- if .Values.ledger.postgres.existingSecret }}true{{ end }}
{{- end }}

{{- define "nestor.serviceAccountName" -}}
{{- default (include "nestor.operatorName" .) .Values.serviceAccount.name }}
{{- end }}

{{- /* Who the operator is to the API server. */}}
{{- define "nestor.operatorUser" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "nestor.serviceAccountName" . }}
{{- end }}

{{- define "nestor.selectorLabels" -}}
app.kubernetes.io/name: {{ include "nestor.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end }}

{{- define "nestor.gatewaySelectorLabels" -}}
app.kubernetes.io/name: {{ include "nestor.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: gateway
{{- end }}

{{- /* "true" if the gateway's program runs: it serves the doors and the web page. */}}
{{- define "nestor.public" -}}
{{- if or .Values.gateway.enabled .Values.web.enabled }}true{{ end }}
{{- end }}

{{- define "nestor.labels" -}}
app.kubernetes.io/name: {{ include "nestor.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/part-of: nestor
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- /* An image's full name: dict "root" and "image" (its repository and digest). All images have one registry and one tag. */}}
{{- define "nestor.image" -}}
{{- $common := .root.Values.image }}
{{- if $common.registry }}{{ $common.registry }}/{{ end }}{{ .image.repository }}
{{- if .image.digest }}@{{ .image.digest }}{{ else }}:{{ default .root.Chart.AppVersion $common.tag }}{{ end }}
{{- end }}

{{- /* Where people reach the page, or empty. */}}
{{- define "nestor.webURL" -}}
{{- default (ternary (print "https://" .Values.web.ingress.host) "" .Values.web.ingress.enabled) .Values.web.url }}
{{- end }}
