// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"time"
)

// spdxDocument is a software bill of materials: an SPDX 2.3 document.
type spdxDocument struct {
	Version       string         `json:"spdxVersion"`
	License       string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      creation       `json:"creationInfo"`
	Packages      []spdxPackage  `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	ID            string        `json:"SPDXID"`
	Name          string        `json:"name"`
	Version       string        `json:"versionInfo,omitempty"`
	Purpose       string        `json:"primaryPackagePurpose,omitempty"`
	Download      string        `json:"downloadLocation"`
	FilesAnalyzed bool          `json:"filesAnalyzed"`
	Checksums     []checksum    `json:"checksums,omitempty"`
	References    []externalRef `json:"externalRefs,omitempty"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type externalRef struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

const noAssertion = "NOASSERTION"

// writeSPDX writes the bill of materials of an image. Go modules are read from the build information of the program.
func (o *options) writeSPDX(i image, a artifact, all []built) error {
	b := &spdxDocument{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: i.name + "-" + o.version + o.variant(),
		Namespace: "https://nestor.dev/spdx/" + i.name + "/" + a.digest.Hex,
		Creation:  creation{Created: o.created.Format(time.RFC3339), Creators: []string{"Organization: The Nestor Authors", "Tool: nestor-images"}},
	}
	const imageID = "SPDXRef-image"
	b.Packages = append(b.Packages, spdxPackage{
		ID: imageID, Name: i.name, Version: o.version, Purpose: "CONTAINER", Download: noAssertion,
		Checksums: []checksum{{Algorithm: "SHA256", Value: a.digest.Hex}},
	})
	b.Relationships = append(b.Relationships, relationship{b.ID, "DESCRIBES", imageID})
	seen := map[string]bool{}
	contain := func(p spdxPackage) {
		if !seen[p.ID] {
			seen[p.ID] = true
			b.Packages = append(b.Packages, p)
			b.Relationships = append(b.Relationships, relationship{imageID, "CONTAINS", p.ID})
		}
	}
	for _, one := range all {
		for _, p := range one.packages {
			deb := newPackage(p.name, p.version, fmt.Sprintf("pkg:deb/debian/%s@%s?arch=%s&distro=%s", p.name, url.QueryEscape(p.version), p.architecture, o.suite))
			deb.ID += "-" + p.architecture // a multi-platform image has it once per platform
			contain(deb)
		}
		if one.program == "" {
			continue
		}
		info, err := buildinfo.ReadFile(one.program)
		if err != nil {
			return fmt.Errorf("read the build information of %s: %w", one.program, err)
		}
		o.containModules(info, contain)
	}
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return fmt.Errorf("write the bill of materials: %w", err)
	}
	if err := os.WriteFile(filepath.Join(o.out, i.name+o.variant()+".spdx.json"), append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the bill of materials: %w", err)
	}
	return nil
}

// containModules adds the modules of a Go program and the standard library.
func (o *options) containModules(info *debug.BuildInfo, contain func(spdxPackage)) {
	goVersion := strings.TrimPrefix(info.GoVersion, "go")
	contain(newPackage("stdlib", goVersion, "pkg:golang/stdlib@"+goVersion))
	version := info.Main.Version
	if version == "" || version == "(devel)" {
		version = o.version
	}
	contain(newPackage(info.Main.Path, version, "pkg:golang/"+info.Main.Path+"@"+version))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		contain(newPackage(m.Path, m.Version, "pkg:golang/"+m.Path+"@"+url.QueryEscape(m.Version)))
	}
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

func newPackage(name, version, purl string) spdxPackage {
	return spdxPackage{
		ID: "SPDXRef-" + notInID.ReplaceAllString(name+"-"+version, "-"), Name: name, Version: version, Purpose: "LIBRARY", Download: noAssertion,
		References: []externalRef{{Category: "PACKAGE-MANAGER", Type: "purl", Locator: purl}},
	}
}
