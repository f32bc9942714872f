// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Workspace gives agents files to work on: a pod with the files serves the workspace tools. Exactly one source must be
// set.
// +kubebuilder:validation:XValidation:rule="[has(self.git), has(self.persistentVolumeClaim), has(self.emptyDir), has(self.directory)].exists_one(set, set)",message="set exactly one of git, persistentVolumeClaim, emptyDir and directory"
// +kubebuilder:validation:XValidation:rule="!has(self.directory) || !(has(self.runtimeClassName) || has(self.nodeSelector) || has(self.tolerations))",message="runtimeClassName, nodeSelector and tolerations are of a pod, and a directory has none"
type Workspace struct {
	// git clones a repository when the workspace starts.
	// +optional
	Git *GitSource `json:"git,omitempty"`
	// persistentVolumeClaim uses the files of a volume in the same namespace.
	// +optional
	PersistentVolumeClaim *ClaimSource `json:"persistentVolumeClaim,omitempty"`
	// emptyDir starts without files.
	// +optional
	EmptyDir *EmptyDirSource `json:"emptyDir,omitempty"`
	// directory is a directory on the machine that the operator runs on. It works only in local mode.
	// +optional
	Directory *DirectorySource `json:"directory,omitempty"`
	// idleTimeoutSeconds is how long the pod is kept without a tool call; the next call starts it again.
	// +optional
	// +default=900
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=86400
	IdleTimeoutSeconds int32 `json:"idleTimeoutSeconds,omitempty"`
	// retainSeconds is how long the pod is kept without a tool call while work of its chat or task continues, for
	// example while an agent waits for a person or for other agents. It has no effect if it is less than
	// idleTimeoutSeconds.
	// +optional
	// +default=86400
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=604800
	RetainSeconds *int32 `json:"retainSeconds,omitempty"`
	// runtimeClassName is the RuntimeClass of the pod, for example gvisor. The operator must allow it, and the
	// nodeSelector and tolerations as well (--workspace-allow).
	// +optional
	RuntimeClassName ObjectName `json:"runtimeClassName,omitempty"`
	// nodeSelector has the labels of the nodes that the pod may run on.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(name, size(name) <= 317 && size(self[name]) <= 63)",message="must have names and values of labels: at most 317 and 63 characters"
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// tolerations let the pod run on nodes with these taints.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Tolerations []Toleration `json:"tolerations,omitempty"`
}

// TolerationOperator compares the value of a taint.
// +kubebuilder:validation:Enum=Equal;Exists
type TolerationOperator string

const (
	// TolerationEqual tolerates a taint with the same value.
	TolerationEqual TolerationOperator = "Equal"
	// TolerationExists tolerates a taint with any value.
	TolerationExists TolerationOperator = "Exists"
)

// Toleration lets a pod run on nodes with a taint.
// +kubebuilder:validation:XValidation:rule="self.?operator.orValue('Equal') == 'Equal' || !has(self.value)",message="must be omitted if operator is Exists",fieldPath=".value"
type Toleration struct {
	// key is the key of the taint.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`
	// operator is Equal for taints with the value, or Exists for all values.
	// +optional
	// +default="Equal"
	Operator TolerationOperator `json:"operator,omitempty"`
	// value is the value of the taint.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Value string `json:"value,omitempty"`
	// effect is the effect of the taint. If empty, taints with any effect are tolerated.
	// +optional
	// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
	Effect string `json:"effect,omitempty"`
}

// The rules for url are on the struct: an error contains the value of the field that the rule is on, and the URL may
// contain a password.

// GitSource is a git repository.
// +kubebuilder:validation:XValidation:rule="self.url.matches('^(https?|ssh)://([^-/?#@[:space:]][^/?#@[:space:]]*@)?([[][0-9A-Fa-f:.]+[]]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)(:[0-9]{1,5})?/[^[:space:]]+$')",message="must be an https, http or ssh URL, for example https://git.example.com/team/app.git or ssh://git@git.example.com/team/app.git",fieldPath=".url"
// +kubebuilder:validation:XValidation:rule="!self.url.matches('^(https?://[^/?#]*|ssh://[^/?#@]*:[^/?#]*)@')",message="must not contain a password: put the credentials into a Secret and name it in secretName",fieldPath=".url"
// +kubebuilder:validation:XValidation:rule="!has(self.ref) || !has(self.push) || !has(self.push.branch) || !(self.ref in [self.push.branch, 'heads/' + self.push.branch, 'refs/heads/' + self.push.branch])",message="must not be the branch of push: agents would push to the branch that is cloned",fieldPath=".ref"
type GitSource struct {
	// url is the URL to clone from: https, http or ssh.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	URL string `json:"url"`
	// ref is the branch, tag or commit. Defaults to the repository's default branch.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^-[:space:]][^[:space:]]*$')",message="must be a branch, tag or commit: no spaces, and no '-' at the beginning"
	Ref string `json:"ref,omitempty"`
	// secretName is a Secret in the same namespace with username and password, or with ssh-privatekey and known_hosts. Its
	// annotation nestor.dev/git-hosts lists the servers that may receive it.
	// +optional
	SecretName ObjectName `json:"secretName,omitempty"`
	// push lets agents publish their changes on one branch of the repository with the tool publish_changes; without
	// it, agents cannot push. If the server asks for credentials, those of secretName must be allowed to push.
	// +optional
	Push *GitPush `json:"push,omitempty"`
}

// PushApproval decides whether publish_changes needs an approval.
// +kubebuilder:validation:Enum=Required;Never
type PushApproval string

// The values of PushApproval.
const (
	// PushApprovalRequired requires approval for every call, even if the role does not.
	PushApprovalRequired PushApproval = "Required"
	// PushApprovalNever asks only if the role asks for every call or names the tool.
	PushApprovalNever PushApproval = "Never"
)

// GitPush describes how agents publish their changes. A branch is never forced.
type GitPush struct {
	// branch is the only branch that agents can push to, and begins with nestor/. Defaults to nestor/NAME with the
	// name of the chat or task, in which dots become dashes.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:XValidation:rule="self.matches('^nestor(/[A-Za-z0-9]([A-Za-z0-9_-]|[.][A-Za-z0-9_-])*)+$') && !self.matches('[.]lock(/|$)')",message="must begin with nestor/, for example nestor/release-notes, and have only letters, digits, '-', '_', single dots and slashes; no part may begin or end with a dot or end with .lock"
	Branch string `json:"branch,omitempty"`
	// approval is Required if a person approves each push, even for roles without approvals, or Never if only the role's
	// own rules apply: a role that asks for every call, or names publish_changes, still asks.
	// +optional
	// +default="Required"
	Approval PushApproval `json:"approval,omitempty"`
	// allowPaths are globs of CI definitions (.github/, .gitlab-ci.yml, Jenkinsfile and others) and lists of reviewers
	// (CODEOWNERS) that agents may publish; without it, changes that include one are refused. A glob without a slash
	// matches a name in any directory; with one it matches the whole path, and ** matches any number of directories.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[A-Za-z0-9._*?@+-][A-Za-z0-9._*?@+/-]*$')",message="must be the path of a file or a glob, relative to the root of the repository, for example .github/workflows/docs.yml or .github/**; use ? for other characters than letters, digits and . _ @ + - /"
	AllowPaths []string `json:"allowPaths,omitempty"`
}

// ClaimSource is a PersistentVolumeClaim of the same namespace.
type ClaimSource struct {
	// claimName is the name of the PersistentVolumeClaim. It must have the label nestor.dev/workspace with the value
	// "true".
	// +required
	ClaimName ObjectName `json:"claimName"`
	// readOnly mounts the volume read-only.
	// +optional
	// +default=false
	ReadOnly bool `json:"readOnly,omitempty"`
}

// A size is a string and not a Quantity, which is normalized (1.5Gi becomes 1536Mi): a client that writes back what it
// read would change a workspace, which is immutable.

// EmptyDirSource is a directory that starts empty.
type EmptyDirSource struct {
	// sizeLimit is the maximum size, for example 2Gi; at most 100Gi, and at most what the operator allows
	// (--workspace-max-size). Defaults to 5Gi, or to what the operator allows if that is less.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="isQuantity(self) && quantity(self).isGreaterThan(quantity('0'))",message="must be a size greater than 0, for example 500Mi or 2Gi"
	// +kubebuilder:validation:XValidation:rule="!isQuantity(self) || quantity(self).compareTo(quantity('100Gi')) <= 0",message="must be at most 100Gi"
	SizeLimit string `json:"sizeLimit,omitempty"`
}

// DirectorySource is a directory on the machine that the operator runs on.
type DirectorySource struct {
	// path is the absolute path of the directory.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/')",message="must be an absolute path, for example /home/alice/project"
	Path string `json:"path"`
}
