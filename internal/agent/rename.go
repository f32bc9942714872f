// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"slices"
	"strings"
)

// ChildName returns the agent's name in its parent's state: the name of its task, which differs from the agent's if an unrelated
// object had that name.
func (c Config) ChildName() string {
	if c.TaskName != "" {
		return c.TaskName
	}
	return c.Name
}

// PostName returns the name of the message object for a post.
func (i Item) PostName(chat string) string {
	if i.Name != "" {
		return i.Name
	}
	return chat + "-" + strings.ReplaceAll(i.ID, "/", "-")
}

// AddSuffix derives another name from one that is taken. The result fits into a label.
func AddSuffix(name, suffix string) string {
	return strings.TrimRight(name[:min(len(name), maxName-len(suffix)-1)], "-.") + "-" + suffix
}

// MatchesChildName reports whether an agent of that name may belong to a child: it has the child's name, or one that AddSuffix
// derived from it.
func MatchesChildName(name, child string) bool {
	dash := strings.LastIndexByte(name, '-')
	return name == child || dash > 0 && len(name)-dash-1 <= maxSuffix && strings.HasPrefix(child, name[:dash]) && AddSuffix(child, name[dash+1:]) == name
}

// nameTaken renames a child that does not exist yet, or a post that was not sent. It ignores unknown names, and new names that
// are already in use here.
func nameTaken(s State, f NameTaken) State {
	if f.Suffix == "" || len(f.Suffix) > maxSuffix {
		return s
	}
	name := AddSuffix(f.Name, f.Suffix)
	if f.Item != "" {
		return renamePost(s, f, name)
	}
	i := s.Children.find(f.Name)
	if i < 0 || s.Children.hasName(name) || !s.Children.Live[i].pending() || s.Children.Live[i].Cancel || s.Children.Live[i].Waiting {
		return s
	}
	s.Children = s.Children.update(i, func(c *Child) {
		if c.OriginalName == "" {
			c.OriginalName = c.Name
		}
		c.Name = name
	})
	return s
}

// maxSuffix bounds suffixes, so that part of the name remains.
const maxSuffix = 16

func renamePost(s State, f NameTaken, name string) State {
	i := slices.IndexFunc(s.Outbox, func(item Item) bool {
		return item.Kind == ItemPost && item.ID == f.Item && item.PostName(s.Config.Name) == f.Name
	})
	if i < 0 {
		return s
	}
	s.Outbox = slices.Clone(s.Outbox)
	s.Outbox[i].Name = name
	return s
}

// hasName reports whether a child has or had this name.
func (c Children) hasName(name string) bool { return c.find(name) >= 0 || c.hasEnded(name) }

// currentName returns the current name of a child. The model may use the name that was planned for it.
func (c Children) currentName(name string) string {
	if c.hasName(name) {
		return name
	}
	for _, child := range slices.Backward(c.Live) {
		if child.OriginalName == name {
			return child.Name
		}
	}
	for _, ended := range slices.Backward(c.Ended) {
		if ended.OriginalName == name {
			return ended.Name
		}
	}
	return name
}
