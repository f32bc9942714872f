{{- /*
The operator's rules come from files/role.yaml, which controller-gen makes from the markers in the controllers: the first
document holds what it needs in every namespace that it looks after, the second what it needs in its own. Rights to objects
whose names the chart chooses are written in rbac.yaml.

"nestor.rules" takes dict "rules" and "scope" (Cluster or Namespaced) and prints the part of the rules for that scope.
*/}}
{{- define "nestor.rules" -}}
{{- range $rule := .rules }}
{{- $resources := list }}
{{- range $resource := $rule.resources }}
{{- if eq (eq $resource "namespaces") (eq $.scope "Cluster") }}
{{- $resources = append $resources $resource }}
{{- end }}
{{- end }}
{{- if $resources }}
{{ list (set (deepCopy $rule) "resources" $resources) | toYaml }}
{{- end }}
{{- end }}
{{- end }}

{{- /*
The binding of a role to the operator: dict "root", "kind" (Role, ClusterRole), "name", "namespace" (for a Role) and "role",
where the role has another name than its binding.
*/}}
{{- define "nestor.binding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}Binding
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "nestor.labels" .root | nindent 4 }}
    app.kubernetes.io/component: operator
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ default .name .role }}
subjects:
  - kind: ServiceAccount
    name: {{ include "nestor.serviceAccountName" .root }}
    namespace: {{ .root.Release.Namespace }}
{{- end }}

{{- /* What triggers may watch. */}}
{{- define "nestor.watchRules" -}}
{{- range .Values.triggers.watch }}
- apiGroups: {{ toJson .apiGroups }}
  resources: {{ toJson .resources }}
  verbs: [list, watch]
{{- end }}
{{- end }}

{{- /* What everybody may do who may do anything. */}}
{{- define "nestor.viewerRules" -}}
- apiGroups: [nestor.dev]
  resources: [agentchats, agentmessages, agenttasks, subagents, agentroles, agentevaluations, modelproviders, toolservers, toolpolicies, agentquotas, agenttriggers]
  verbs: [get, list, watch]
# The revisions of roles.
- apiGroups: [apps]
  resources: [controllerrevisions]
  verbs: [get, list]
# Transcripts have what was said, modelcalls all that was sent to a model, usages only numbers.
- apiGroups: [history.nestor.dev]
  resources: [transcripts, modelcalls, usages]
  verbs: [get, list]
- apiGroups: [history.nestor.dev]
  resources: [transcripts/log, transcripts/image, transcripts/trace, transcripts/calls]
  verbs: [get]
{{- end }}
