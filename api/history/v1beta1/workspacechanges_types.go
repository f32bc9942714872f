// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// WorkspaceSource is where the files of a workspace come from.
// +enum
type WorkspaceSource string

// The sources of workspaces.
const (
	// WorkspaceGit: a clone of a repository; changes are relative to the cloned commit.
	WorkspaceGit WorkspaceSource = "Git"
	// WorkspaceEmptyDir: a directory that began empty.
	WorkspaceEmptyDir WorkspaceSource = "EmptyDir"
	// WorkspaceDirectory: a directory of the operator's machine; changes are relative to the commit that is checked out.
	WorkspaceDirectory WorkspaceSource = "Directory"
	// WorkspaceClaim: a PersistentVolumeClaim; changes are relative to the commit that is checked out.
	WorkspaceClaim WorkspaceSource = "Claim"
)

// FileChange is the kind of a change.
// +enum
type FileChange string

// The kinds of change.
const (
	// FileAdded: the file is new.
	FileAdded FileChange = "Added"
	// FileModified: its content, mode or type was changed.
	FileModified FileChange = "Modified"
	// FileDeleted: it was deleted.
	FileDeleted FileChange = "Deleted"
	// FileRenamed: it was renamed, and perhaps changed.
	FileRenamed FileChange = "Renamed"
)

// ChangedFile is a file that was changed in a workspace.
type ChangedFile struct {
	// path is the path in the workspace.
	// +required
	Path string `json:"path"`
	// change is the kind of the change.
	// +required
	Change FileChange `json:"change"`
	// from is the former path of a renamed file.
	// +optional
	From string `json:"from,omitempty"`
	// binary reports that the file is not text.
	// +optional
	Binary bool `json:"binary,omitempty"`
	// additions is the number of added lines; absent for a binary file.
	// +optional
	Additions *int64 `json:"additions,omitempty"`
	// deletions is the number of deleted lines; absent for a binary file.
	// +optional
	Deletions *int64 `json:"deletions,omitempty"`
}

// WorkspaceChanges are the changes in the workspace of a chat (chat.NAME) or of a standalone task (task.NAME), read from
// the running workspace or, if it has stopped, from the saved changes. The subresource archive has all changes: a patch
// for a git repository, a tar for emptyDir.
//
// +kubebuilder:object:root=true
type WorkspaceChanges struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// source is where the files come from.
	// +required
	Source WorkspaceSource `json:"source"`
	// baseCommit is the commit that the files were compared with; absent without a repository.
	// +optional
	BaseCommit string `json:"baseCommit,omitempty"`
	// digest is the SHA-256 of the patch in the subresource archive, in hexadecimal digits; an approval of
	// publish_changes shows the same digest. It is absent for emptyDir, and if there are no changes or they are too
	// large.
	// +optional
	Digest string `json:"digest,omitempty"`
	// captureTime is the time when the changes were read from the workspace.
	// +optional
	CaptureTime *metav1.Time `json:"captureTime,omitempty"`
	// live is true if the changes were read from the running workspace just now.
	// +required
	Live bool `json:"live"`
	// tooLarge reports that the changes exceed a limit and are not kept when the workspace stops.
	// +optional
	TooLarge bool `json:"tooLarge,omitempty"`
	// message says what is missing, and why.
	// +optional
	Message string `json:"message,omitempty"`
	// files are the changed files by path, at most 2000.
	// +required
	// +listType=atomic
	Files []ChangedFile `json:"files"`
	// diff is the unified diff of the text files, at most 1 MiB.
	// +optional
	Diff string `json:"diff,omitempty"`
	// diffTruncated reports that the diff was cut after 1 MiB.
	// +optional
	DiffTruncated bool `json:"diffTruncated,omitempty"`
}
