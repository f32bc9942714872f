// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gitignore

import (
	"strings"

	"github.com/nestor-dev/nestor/internal/tool/workspace/pathmatch"
)

type Rules struct {
	rules []rule
	// literals indexes the rules that name one entry at any depth, which most rules do, to avoid trying each of them.
	literals map[string][]int
	others   []int
}

type rule struct {
	negate  bool
	dirOnly bool
	// A rule without a slash in its middle is matched against the entry's name,
	// any other against its path from the directory of the file.
	byName bool
	name   pathmatch.Name
	prefix string // of the path, before what the pattern path matches
	path   pathmatch.Path
}

// Parse parses the content of a .gitignore file. It returns nil if the file has no rules.
func Parse(content string) *Rules {
	content = strings.TrimPrefix(content, "\ufeff")
	r := &Rules{literals: map[string][]int{}}
	for line := range strings.SplitSeq(content, "\n") {
		parsed, ok := parseLine(line)
		if !ok {
			continue
		}
		index := len(r.rules)
		r.rules = append(r.rules, parsed)
		if text, ok := parsed.name.Literal(); ok && parsed.byName {
			r.literals[text] = append(r.literals[text], index)
			continue
		}
		r.others = append(r.others, index)
	}
	if len(r.rules) == 0 {
		return nil
	}
	return r
}

func parseLine(line string) (rule, bool) {
	line = trimTrailingSpace(strings.TrimSuffix(line, "\r"))
	if line == "" || line[0] == '#' {
		return rule{}, false
	}
	var r rule
	if line[0] == '!' {
		r.negate = true
		line = line[1:]
	}
	if strings.HasSuffix(line, "/") {
		r.dirOnly = true
		line = line[:len(line)-1]
	}
	if line == "" {
		return rule{}, false
	}
	r.byName = !strings.Contains(line, "/")
	if r.byName {
		r.name = pathmatch.CompileName(line)
		return r, true
	}
	line = strings.TrimPrefix(line, "/")
	r.prefix = textBeforeStars(line)
	r.path = pathmatch.CompilePath(line[len(r.prefix):])
	return r, true
}

// textBeforeStars returns the text before a "**" that is not a whole component, as in "a**/b". Git documents such
// stars as ordinary ones, but it compares the text before the first wildcard separately, and the rest of the pattern
// then begins with "**", which crosses directories.
func textBeforeStars(line string) string {
	i := strings.IndexAny(line, `*?[\`)
	if i <= 0 || line[i-1] == '/' || !strings.HasPrefix(line[i:], "**") {
		return ""
	}
	rest := strings.TrimLeft(line[i:], "*")
	if rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`) {
		return line[:i]
	}
	return ""
}

// trimTrailingSpace drops trailing spaces, but not one behind a backslash.
func trimTrailingSpace(line string) string {
	end := -1 // where the run of unescaped spaces that ends the line begins
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			if end < 0 {
				end = i
			}
		case '\\':
			i++
			end = -1
		default:
			end = -1
		}
	}
	if end < 0 {
		return line
	}
	return line[:end]
}

// match returns the result of the last rule that matches an entry.
func (r *Rules) match(path, name string, isDir bool) (ignored, decided bool) {
	last := -1
	if at, ok := r.literals[name]; ok {
		for i := len(at) - 1; i >= 0; i-- {
			if r.rules[at[i]].applies(isDir) {
				last = at[i]
				break
			}
		}
	}
	for i := len(r.others) - 1; i >= 0 && r.others[i] > last; i-- {
		candidate := &r.rules[r.others[i]]
		if candidate.applies(isDir) && candidate.matches(path, name) {
			last = r.others[i]
			break
		}
	}
	if last < 0 {
		return false, false
	}
	return !r.rules[last].negate, true
}

func (r *rule) applies(isDir bool) bool { return isDir || !r.dirOnly }

func (r *rule) matches(path, name string) bool {
	if r.byName {
		return r.name.Match(name)
	}
	rest, ok := strings.CutPrefix(path, r.prefix)
	return ok && r.path.Match(rest)
}
