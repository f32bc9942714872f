{{- /* The head of a policy: dict "root", "resource" (its name, too) and "operations". Validations follow. */}}
{{- define "nestor.policyHead" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {{ include "nestor.fullname" .root }}-{{ .resource }}
  labels:
    {{- include "nestor.labels" .root | nindent 4 }}
    app.kubernetes.io/component: policies
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
      - apiGroups: [nestor.dev]
        apiVersions: ["*"]
        operations: [{{ join ", " .operations }}]
        resources: [{{ .resource }}]
  # The operator may do all of this; so may those that restore what it has done.
  matchConditions:
    - name: not-the-operator
      expression: {{ printf "!(request.userInfo.username in %s)" (prepend .root.Values.policies.exemptUsers (include "nestor.operatorUser" .root) | toJson) | quote }}
{{- end }}

{{- /* What puts a policy to work: dict "root" and "resource". */}}
{{- define "nestor.policyBinding" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ include "nestor.fullname" .root }}-{{ .resource }}
  labels:
    {{- include "nestor.labels" .root | nindent 4 }}
    app.kubernetes.io/component: policies
spec:
  policyName: {{ include "nestor.fullname" .root }}-{{ .resource }}
  validationActions: [Deny]
  {{- with .root.Values.watchNamespaces }}
  matchResources:
    namespaceSelector:
      matchExpressions:
        - key: kubernetes.io/metadata.name
          operator: In
          values: {{ append . $.root.Release.Namespace | uniq | toJson }}
  {{- end }}
{{- end }}
