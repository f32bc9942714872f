// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

const (
	statementFile = "PROVENANCE.json"
	repository    = "https://github.com/nestor-dev/nestor"
)

// statement is an in-toto statement, version 1.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []subject  `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     provenance `json:"predicate"`
}

// subject is a file that the statement is about.
type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// provenance is SLSA provenance, version 1.
type provenance struct {
	BuildDefinition definition `json:"buildDefinition"`
	RunDetails      details    `json:"runDetails"`
}

type definition struct {
	BuildType          string            `json:"buildType"`
	ExternalParameters map[string]string `json:"externalParameters"`
	// Dependencies is the commit; its go.sum and package-lock.json pin all others.
	Dependencies []dependency `json:"resolvedDependencies"`
}

type dependency struct {
	URI    string            `json:"uri"`
	Digest map[string]string `json:"digest"`
}

type details struct {
	Builder builder `json:"builder"`
}

type builder struct {
	ID      string            `json:"id"`
	Version map[string]string `json:"version"`
}

// writeStatement writes the statement about all files of a directory. It has no time, so that the same commit gives the
// same statement.
func writeStatement(dir, version, commit string) error {
	subjects, err := subjectsIn(dir)
	if err != nil {
		return err
	}
	s := statement{
		Type: "https://in-toto.io/Statement/v1", Subject: subjects, PredicateType: "https://slsa.dev/provenance/v1",
		Predicate: provenance{
			BuildDefinition: definition{
				BuildType: repository + "/blob/" + commit + "/hack/release/build.sh", ExternalParameters: map[string]string{"version": version},
				Dependencies: []dependency{{URI: "git+" + repository + "@refs/tags/" + version, Digest: map[string]string{"gitCommit": commit}}},
			},
			RunDetails: details{Builder: builder{ID: repository + "/hack/release", Version: map[string]string{"go": runtime.Version()}}},
		},
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the statement: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, statementFile), append(text, '\n'), 0o644)
}

// subjectsIn returns the files of a directory, except the statement, checksums and signatures.
func subjectsIn(dir string) ([]subject, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list the files of the release: %w", err)
	}
	var subjects []subject
	for _, entry := range entries {
		switch entry.Name() {
		case statementFile, envelopeFile, sumsFile, sumsFile + ".sig":
			continue
		}
		if !entry.Type().IsRegular() {
			continue
		}
		digest, err := fileDigest(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		subjects = append(subjects, subject{Name: entry.Name(), Digest: map[string]string{"sha256": digest}})
	}
	if len(subjects) == 0 {
		return nil, fmt.Errorf("%s has no files", dir)
	}
	return subjects, nil
}

func fileDigest(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read a file of the release: %w", err)
	}
	defer func() { _ = file.Close() }() // opened for reading
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
