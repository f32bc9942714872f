// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Workspace gives agents files to work on: a pod beside the files serves the workspace tools. Exactly one source.
// +kubebuilder:validation:XValidation:rule="[has(self.git), has(self.persistentVolumeClaim), has(self.emptyDir), has(self.directory)].exists_one(set, set)",message="set exactly one of git, persistentVolumeClaim, emptyDir and directory"
type Workspace struct {
	// git clones a repository when the workspace starts.
	// +optional
	Git *GitSource `json:"git,omitempty"`
	// persistentVolumeClaim uses the files of a volume of the same namespace.
	// +optional
	PersistentVolumeClaim *ClaimSource `json:"persistentVolumeClaim,omitempty"`
	// emptyDir starts with no files; they are lost with the pod.
	// +optional
	EmptyDir *EmptyDirSource `json:"emptyDir,omitempty"`
	// directory is a directory of the machine that the operator runs on. It works in local mode only.
	// +optional
	Directory *DirectorySource `json:"directory,omitempty"`
	// idleTimeoutSeconds is how long the pod stays without a tool call; the next call starts it again.
	// +optional
	// +default=900
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=86400
	IdleTimeoutSeconds int32 `json:"idleTimeoutSeconds,omitempty"`
}

// The rules on url stand on its struct: a refusal repeats the value of the field that its rule stands on, and this one may
// hold a password.

// GitSource is a git repository.
// +kubebuilder:validation:XValidation:rule="self.url.matches('^(https?|ssh)://([^-/?#@[:space:]][^/?#@[:space:]]*@)?([[][0-9A-Fa-f:.]+[]]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)(:[0-9]{1,5})?/[^[:space:]]+$')",message="must be an https, http or ssh URL, for example https://git.example.com/team/app.git or ssh://git@git.example.com/team/app.git",fieldPath=".url"
// +kubebuilder:validation:XValidation:rule="!self.url.matches('^(https?://[^/?#]*|ssh://[^/?#@]*:[^/?#]*)@')",message="must not contain a password: put the credentials into a Secret and name it in secretName",fieldPath=".url"
type GitSource struct {
	// url is where to clone from: https, http or ssh.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	URL string `json:"url"`
	// ref is the branch, tag or commit. Absent: the repository's default branch.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^-[:space:]][^[:space:]]*$')",message="must be a branch, tag or commit: no spaces, and no '-' at the beginning"
	Ref string `json:"ref,omitempty"`
	// secretName is a Secret of the same namespace with username and password, or with ssh-privatekey and known_hosts. Its annotation
	// nestor.dev/git-hosts names the servers that may receive it.
	// +optional
	SecretName ObjectName `json:"secretName,omitempty"`
}

// ClaimSource is a PersistentVolumeClaim of the same namespace.
type ClaimSource struct {
	// claimName is the name of the PersistentVolumeClaim. It must have the label nestor.dev/workspace with the value "true".
	// +required
	ClaimName ObjectName `json:"claimName"`
	// readOnly mounts the volume without the right to write.
	// +optional
	// +default=false
	ReadOnly bool `json:"readOnly,omitempty"`
}

// A size is a string and not a Quantity, which rewrites 1.5Gi as 1536Mi: a client that writes back what it read would
// change a workspace, which cannot change.

// EmptyDirSource is a directory that starts empty and lives as long as the pod.
type EmptyDirSource struct {
	// sizeLimit is how much it may hold, for example 2Gi; at most 100Gi, and no more than the operator allows (--workspace-max-size). Absent: 5Gi,
	// or what the operator allows if that is less.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="isQuantity(self) && quantity(self).isGreaterThan(quantity('0'))",message="must be a size greater than 0, for example 500Mi or 2Gi"
	// +kubebuilder:validation:XValidation:rule="!isQuantity(self) || quantity(self).compareTo(quantity('100Gi')) <= 0",message="must be at most 100Gi"
	SizeLimit string `json:"sizeLimit,omitempty"`
}

// DirectorySource is a directory of the machine that the operator runs on.
type DirectorySource struct {
	// path is the absolute path of the directory.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/')",message="must be an absolute path, for example /home/alice/project"
	Path string `json:"path"`
}
