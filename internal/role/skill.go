// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package role

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// SkillFile is the file of a skill with its front matter and instructions.
const SkillFile = "SKILL.md"

// The bounds of the Agent Skills format.
const (
	maxSkillName          = 64
	maxSkillDescription   = 1024
	maxSkillCompatibility = 500
)

// Skill is a skill of a role: instructions for a certain kind of work, with files.
type Skill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	ConfigMap   string `json:"configMap"`
	// Trusted and Labels are those of its source in the AgentRole.
	Trusted bool                   `json:"trusted,omitempty"`
	Labels  []v1beta1.ContentLabel `json:"contentLabels,omitempty"`

	texts map[string]string // by key
}

// skillName matches the names of skills; a rule for hyphens comes on top.
var skillName = regexp.MustCompile(`^[a-z0-9-]+$`)

// skillFields are the fields of the front matter that the format has.
var skillFields = []string{"allowed-tools", "compatibility", "description", "license", "metadata", "name"}

func ReadSkill(configMap string, texts map[string]string) (Skill, error) {
	content, ok := texts[SkillFile]
	if !ok {
		return Skill{}, fmt.Errorf("the key %s is missing", SkillFile)
	}
	front, err := frontMatter(content)
	if err != nil {
		return Skill{}, err
	}
	if err := checkFields(front); err != nil {
		return Skill{}, err
	}
	name, description := text(front["name"]), text(front["description"])
	if err := checkSkillName(name); err != nil {
		return Skill{}, err
	}
	switch n := utf8.RuneCountInString(description); {
	case n == 0:
		return Skill{}, errors.New("description must be a non-empty string")
	case n > maxSkillDescription:
		return Skill{}, fmt.Errorf("description has %d characters, and may have at most %d", n, maxSkillDescription)
	}
	return Skill{Name: name, Description: description, ConfigMap: configMap, texts: texts}, nil
}

// frontMatter returns the YAML between the first two lines of ---.
func frontMatter(content string) (map[string]any, error) {
	content = strings.ReplaceAll(content, "\r\n", "\n")
	rest, ok := strings.CutPrefix(content, "---\n")
	if !ok {
		return nil, errors.New("it must begin with front matter between two lines of ---")
	}
	front, _, closed := strings.Cut("\n"+rest, "\n---")
	if !closed {
		return nil, errors.New("its front matter is not closed by a line of ---")
	}
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(front), &fields); err != nil {
		return nil, fmt.Errorf("its front matter is not a YAML mapping: %w", err)
	}
	return fields, nil
}

func checkFields(front map[string]any) error {
	for _, field := range slices.Sorted(maps.Keys(front)) {
		if !slices.Contains(skillFields, field) {
			return fmt.Errorf("its front matter has the field %q, and may have: %s", field, strings.Join(skillFields, ", "))
		}
	}
	for _, field := range []string{"name", "description"} {
		if _, ok := front[field]; !ok {
			return fmt.Errorf("its front matter has no %s", field)
		}
	}
	if value, ok := front["compatibility"]; ok {
		compatibility, isText := value.(string)
		if !isText || utf8.RuneCountInString(compatibility) > maxSkillCompatibility {
			return fmt.Errorf("compatibility must be a string of at most %d characters", maxSkillCompatibility)
		}
	}
	return nil
}

func checkSkillName(name string) error {
	switch {
	case name == "":
		return errors.New("name must be a non-empty string")
	case len(name) > maxSkillName:
		return fmt.Errorf("name has %d characters, and may have at most %d", len(name), maxSkillName)
	case !skillName.MatchString(name) || strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-") || strings.Contains(name, "--"):
		return fmt.Errorf("name is %q: it may have lowercase letters, digits and single hyphens between them", name)
	}
	return nil
}

// text returns a value of the front matter as text, or "" if it is none.
func text(value any) string {
	s, _ := value.(string)
	return strings.TrimSpace(s)
}

// Files returns the paths of the files of a skill besides SKILL.md, in order. A key of a ConfigMap cannot contain a slash: __ takes its place.
func (s Skill) Files() []string {
	var files []string
	for _, key := range slices.Sorted(maps.Keys(s.texts)) {
		if key != SkillFile {
			files = append(files, strings.ReplaceAll(key, "__", "/"))
		}
	}
	return files
}

// Text returns the text of a skill's file by its path or its key; "" is SKILL.md.
func (s Skill) Text(file string) (string, bool) {
	file = strings.TrimPrefix(file, "./")
	if file == "" {
		file = SkillFile
	}
	text, ok := s.texts[strings.ReplaceAll(file, "/", "__")]
	return text, ok
}

// ContentLabels returns the content labels of its texts.
func (s Skill) ContentLabels() []string {
	return v1beta1.ContentNames(v1beta1.Content(s.Trusted, s.Labels))
}
