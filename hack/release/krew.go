// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"text/template"
)

// writeKrew fills in the manifest of the plugin. The template is in the form of krew-release-bot, so that the bot can
// use it too.
func writeKrew(dir, version, manifest string) error {
	tag := map[string]string{"TagName": "v" + version}
	functions := template.FuncMap{"addURIAndSha": func(uri string, _ string) (string, error) {
		var resolved bytes.Buffer
		parsed, err := template.New("uri").Parse(uri)
		if err != nil {
			return "", err
		}
		if err := parsed.Execute(&resolved, tag); err != nil {
			return "", err
		}
		archive, err := os.ReadFile(filepath.Join(dir, path.Base(resolved.String())))
		if err != nil {
			return "", fmt.Errorf("read the plugin's archive: %w", err)
		}
		return fmt.Sprintf("uri: %s\n    sha256: %x", resolved.String(), sha256.Sum256(archive)), nil
	}}
	text, err := os.ReadFile(manifest)
	if err != nil {
		return fmt.Errorf("read krew's manifest: %w", err)
	}
	parsed, err := template.New("krew").Funcs(functions).Parse(string(text))
	if err != nil {
		return fmt.Errorf("read krew's manifest: %w", err)
	}
	var filled strings.Builder
	if err := parsed.Execute(&filled, tag); err != nil {
		return fmt.Errorf("fill in krew's manifest: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, "krew.yaml"), []byte(filled.String()), 0o644)
}
