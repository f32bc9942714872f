// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package toolspec

func Write() Tool {
	return Tool{
		Name: "write",
		Description: "Create a file, or replace all of its content. Missing directories are created and an existing file keeps its permissions. " +
			"To change a part of a file use patch.",
		Title: "Write a file", Schema: schemaFor[WriteArgs](), Idempotent: true,
	}
}

type WriteArgs struct {
	Location
	Path    string `json:"path" jsonschema:"the file, for example src/main.go"`
	Content string `json:"content" jsonschema:"the whole new content"`
}

func Patch() Tool {
	return Tool{
		Name: "patch",
		Description: "Change parts of a file by exact replacement. Each edit replaces old_string, which must occur exactly once " +
			"(or set replace_all or occurrence), by new_string. Copy old_string from read without the line numbers, with its indentation. " +
			"Edits apply in order; if one fails, the file is left as it was.",
		Title: "Edit a file", Schema: schemaFor[PatchArgs](),
	}
}

type PatchArgs struct {
	Location
	Path  string      `json:"path" jsonschema:"the file, for example src/main.go"`
	Edits []PatchEdit `json:"edits" jsonschema:"the replacements, applied in order"`
}

type PatchEdit struct {
	OldString  string `json:"old_string" jsonschema:"the text to replace, exactly as in the file"`
	NewString  string `json:"new_string" jsonschema:"the text to put in its place; empty to delete"`
	ReplaceAll bool   `json:"replace_all,omitempty" jsonschema:"replace every occurrence"`
	Occurrence int    `json:"occurrence,omitempty" jsonschema:"which of several occurrences to replace, counted from 1"`
}

func Bash() Tool {
	return Tool{
		Name: "bash",
		Description: "Run a command line with bash in the workspace and return its output and exit code. " +
			"There is no input and no terminal. When the command ends, or its time is up, all processes that it started are ended too, " +
			"background ones included; start a server and use it within one call. Prefer read, grep, glob and patch for files.",
		Title: "Run a command", Schema: schemaFor[BashArgs](), OpenWorld: true,
	}
}

type BashArgs struct {
	Location
	Command        string `json:"command" jsonschema:"the command line, for example: go test ./... 2>&1 | tail -50"`
	TimeoutSeconds int    `json:"timeout_seconds,omitempty" jsonschema:"time limit (default 120, at most 600, unless the workspace says otherwise)"`
}
