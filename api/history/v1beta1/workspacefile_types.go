// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FileState describes what is available of the content of a file.
// +enum
type FileState string

// The states of files.
const (
	// FileText: content has the whole content.
	FileText FileState = "Text"
	// FileBinary: the file is not text in UTF-8.
	FileBinary FileState = "Binary"
	// FileTooLarge: the file has more than 1 MiB.
	FileTooLarge FileState = "TooLarge"
	// FileMissing: there is no such file; the tool write would create it.
	FileMissing FileState = "Missing"
	// FileUnavailable: the files cannot be read now; message says why.
	FileUnavailable FileState = "Unavailable"
)

// WorkspaceFile is the current content of one file of the workspace of a chat (chat.NAME) or of a standalone task
// (task.NAME), which a call of the tool write would replace. It is read from the running workspace or, for an emptyDir
// whose workspace has stopped, from the saved files.
//
// +kubebuilder:object:root=true
type WorkspaceFile struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// path is the path of the file from the root of the workspace.
	// +required
	Path string `json:"path"`
	// state describes what is available of the content.
	// +required
	State FileState `json:"state"`
	// content is the content of a text file, at most 1 MiB.
	// +optional
	Content string `json:"content,omitempty"`
	// readTime is the time when the file was read from the workspace.
	// +optional
	ReadTime *metav1.Time `json:"readTime,omitempty"`
	// live is true if the file was read from the running workspace just now.
	// +required
	Live bool `json:"live"`
	// message says why the file is not available.
	// +optional
	Message string `json:"message,omitempty"`
}

// WorkspaceFileOptions are the query parameters of a file of a workspace.
//
// +kubebuilder:object:root=true
type WorkspaceFileOptions struct {
	metav1.TypeMeta `json:",inline"`
	// path is the path of the file, relative to workingDir.
	// +required
	Path string `json:"path"`
	// workingDir is a directory, relative to the directory of the agent, or without an agent to the root of the
	// workspace.
	// +optional
	WorkingDir string `json:"workingDir,omitempty"`
	// agent is the agent whose call names the file, as the name of its transcript: subagent.NAME, task.NAME or
	// chat.NAME. Paths of an agent are relative to its directory.
	// +optional
	Agent string `json:"agent,omitempty"`
}
