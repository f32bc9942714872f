// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package toolspec

func Read() Tool {
	return reader[ReadArgs]("read", "Read a file",
		"Read a text file. Lines are numbered; the number and the tab after it are not part of the file. "+
			"Long files come in pages: continue with the offset in the answer. Use read_image for images.")
}

type ReadArgs struct {
	Location
	Path   string `json:"path" jsonschema:"the file, for example src/main.go"`
	Offset int    `json:"offset,omitempty" jsonschema:"first line to read, counted from 1 (default 1)"`
	Limit  int    `json:"limit,omitempty" jsonschema:"number of lines to read (default 1000, at most 5000)"`
}

func Ls() Tool {
	return reader[LsArgs]("ls", "List a directory",
		"List a directory: directories end in /, files show their size. Ignored and hidden files are listed, .git is not. "+
			"Use glob to list a whole tree.")
}

type LsArgs struct {
	Location
	Path  string `json:"path,omitempty" jsonschema:"the directory (default: cwd)"`
	Limit int    `json:"limit,omitempty" jsonschema:"number of entries to list (default 500, at most 5000)"`
}

func Glob() Tool {
	return reader[GlobArgs]("glob", "Find files by name",
		"List the files whose path matches a glob, sorted. A pattern without / matches a name at any depth (*.go); "+
			"one with / matches the path from the searched directory (cmd/**/*.go). ** is any number of directories, {a,b} alternatives. "+
			"Files that .gitignore excludes are left out.")
}

// SearchArgs are the common arguments of the search tools.
type SearchArgs struct {
	Location
	Path           string `json:"path,omitempty" jsonschema:"directory or file to search (default: cwd)"`
	IncludeIgnored bool   `json:"include_ignored,omitempty" jsonschema:"also search what .gitignore excludes"`
}

type GlobArgs struct {
	SearchArgs
	Pattern string `json:"pattern" jsonschema:"the glob, for example *.go or src/**/*_test.{js,ts}"`
	Limit   int    `json:"limit,omitempty" jsonschema:"number of paths to return (default 500, at most 5000)"`
}

func Grep() Tool {
	return reader[GrepArgs]("grep", "Search text",
		"Search files for lines that match a regular expression (Go/RE2 syntax: no look-around, no back-references). "+
			"Matches come as path:line:text, lines of context as path-line-text. Binary files and files that .gitignore excludes are left out.")
}

type GrepArgs struct {
	SearchArgs
	Pattern    string `json:"pattern" jsonschema:"the regular expression, matched against single lines"`
	Literal    bool   `json:"literal,omitempty" jsonschema:"take the pattern as plain text"`
	IgnoreCase bool   `json:"ignore_case,omitempty" jsonschema:"match upper and lower case alike"`
	Include    string `json:"include,omitempty" jsonschema:"only files that match this glob, for example *.go"`
	Context    int    `json:"context,omitempty" jsonschema:"lines to show before and after each match (default 0, at most 20)"`
	FilesOnly  bool   `json:"files_only,omitempty" jsonschema:"return only the paths, with the number of matching lines in each"`
	Limit      int    `json:"limit,omitempty" jsonschema:"number of matches (or paths) to return (default 200, at most 2000)"`
}

func Keyword() Tool {
	return reader[KeywordArgs]("keyword_search", "Find files about a subject",
		"Find the files that are most about some words, best first, with their most telling lines. "+
			"Case does not matter; words are found in identifiers too (user finds getUserName and user_id). "+
			"Rare words count more, and files with more of the words come first. Good when the exact text is not known.")
}

type KeywordArgs struct {
	SearchArgs
	Keywords []string `json:"keywords" jsonschema:"the words, for example [\"retry\", \"backoff\", \"http\"]"`
	Include  string   `json:"include,omitempty" jsonschema:"only files that match this glob, for example *.go"`
	Limit    int      `json:"limit,omitempty" jsonschema:"number of files to return (default 10, at most 50)"`
}

func Image() Tool {
	return reader[ImageArgs]("read_image", "Show an image", "Return an image file (PNG, JPEG, GIF or WebP) as an image.")
}

type ImageArgs struct {
	Location
	Path string `json:"path" jsonschema:"the image file, for example docs/diagram.png"`
}
