// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// inValues matches the name of an image in a chart's values, and the digest after it, which is empty in the
// repository.
var inValues = regexp.MustCompile(`(repository: ` + team + `/(nestor-[a-z-]+)\n(?:\s*#.*\n)*\s*digest: )""`)

// pin writes the digests of the images into the values of charts and into manifests. An image without a digest is an
// error, so that a release does not refer to a tag, which can be moved.
func pin(dir, version, tree string) error {
	byName, err := digests(dir)
	if err != nil {
		return err
	}
	inManifests := regexp.MustCompile(team + `/(nestor-[a-z-]+):` + regexp.QuoteMeta(version) + `\b`)
	return filepath.WalkDir(tree, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var missing []string
		digest := func(name string) string {
			if byName[name] == "" {
				missing = append(missing, name)
			}
			return byName[name]
		}
		pinned := inValues.ReplaceAllStringFunc(string(text), func(match string) string {
			parts := inValues.FindStringSubmatch(match)
			return fmt.Sprintf("%s%q", parts[1], digest(parts[2]))
		})
		pinned = inManifests.ReplaceAllStringFunc(pinned, func(match string) string {
			return strings.TrimSuffix(match, ":"+version) + "@" + digest(inManifests.FindStringSubmatch(match)[1])
		})
		if len(missing) > 0 {
			return fmt.Errorf("%s refers to images that are not in %s: %s", path, dir, strings.Join(missing, ", "))
		}
		if pinned == string(text) {
			return nil
		}
		return os.WriteFile(path, []byte(pinned), entry.Type().Perm()|0o644)
	})
}
