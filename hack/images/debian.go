// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// keyring has the keys of Debian's archive.
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// excludedPackages are dependencies that nothing here uses: tools for installing packages, which is impossible in an image
// without root, and git commands written in Perl.
var excludedPackages = []string{
	"perl", "perl-base", "perl-modules-*", "libperl*", "liberror-perl", "libgdbm*", "libdb5.3*", "debconf", "dpkg", "adduser", "passwd", "libpam-modules*", "libpam-runtime",
	"sysvinit-utils", "init-system-helpers", "ssl-cert", "openssl", "netbase", "postgresql-common*", "postgresql-client-common", "libjson-perl", "git-man",
	"libllvm*", "libz3-*", "libipc-run-perl", "libio-pty-perl", "libtext-*-perl", "ucf", "sensible-utils", "openssl-provider-legacy", "locales",
}

// debPackage is a Debian package that is part of an image.
type debPackage struct{ name, version, architecture string }

// debian unpacks packages and their dependencies into a tree. No package scripts are run; addSystemFiles does what is
// needed of them.
func (o *options) debian(ctx context.Context, architecture string, wanted []string) (tree, []debPackage, error) {
	apt, err := o.newApt(architecture)
	if err != nil {
		return nil, nil, err
	}
	archives, err := apt.download(ctx, wanted)
	if err != nil {
		return nil, nil, err
	}
	t := tree{}
	var packages []debPackage
	for _, archive := range archives {
		p, err := describe(ctx, archive)
		if err != nil {
			return nil, nil, err
		}
		if slices.ContainsFunc(excludedPackages, func(glob string) bool { ok, _ := path.Match(glob, p.name); return ok }) {
			continue
		}
		packages = append(packages, p)
		if err := t.unpack(ctx, archive); err != nil {
			return nil, nil, fmt.Errorf("unpack %s: %w", filepath.Base(archive), err)
		}
	}
	t.addSystemFiles()
	return t, packages, t.checkLibraries()
}

// checkLibraries checks that every program finds its shared libraries, in case a package was omitted wrongly.
func (t tree) checkLibraries() error {
	existing := map[string]bool{}
	for name := range t {
		existing[path.Base(name)] = true
	}
	for name, e := range t {
		if e.header.Typeflag != tar.TypeReg || path.Base(path.Dir(name)) != "bin" {
			continue
		}
		program, err := elf.NewFile(bytes.NewReader(e.content))
		if err != nil {
			continue // a script
		}
		libraries, err := program.ImportedLibraries()
		if err != nil {
			return fmt.Errorf("read the libraries of %s: %w", name, err)
		}
		for _, library := range libraries {
			if !existing[library] {
				return fmt.Errorf("%s needs %s, and no package has it", name, library)
			}
		}
	}
	return nil
}

func describe(ctx context.Context, archive string) (debPackage, error) {
	out, err := exec.CommandContext(ctx, "dpkg-deb", "--show", "--showformat", "${Package}\t${Version}\t${Architecture}", archive).Output()
	if err != nil {
		return debPackage{}, fmt.Errorf("read package %s: %w", archive, err)
	}
	fields := strings.Split(string(out), "\t")
	if len(fields) != 3 {
		return debPackage{}, fmt.Errorf("read package %s: unexpected answer %q", archive, out)
	}
	return debPackage{name: fields[0], version: fields[1], architecture: fields[2]}, nil
}

// unpack adds the files of a package.
func (t tree) unpack(ctx context.Context, archive string) error {
	cmd := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", archive)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	var output bytes.Buffer
	cmd.Stderr = &output
	if err := cmd.Start(); err != nil {
		return err
	}
	readErr := t.read(bufio.NewReader(out))
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, output.String())
	}
	return readErr
}

func (t tree) read(from io.Reader) error {
	r := tar.NewReader(from)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if slices.Contains(rootLinks, clean(h.Name)) && h.Typeflag == tar.TypeSymlink {
			continue // it points to where mergedPath puts the files
		}
		name := mergedPath(clean(h.Name))
		if !isUseful(name) {
			continue
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		header := tar.Header{Typeflag: h.Typeflag, Name: name, Linkname: h.Linkname, Mode: h.Mode & 0o1777} // no set-user-ID programs
		if h.Typeflag == tar.TypeLink {
			header.Linkname = mergedPath(clean(h.Linkname))
		}
		t.put(header, content)
	}
}

// mergedPath maps paths in /bin, /lib and so on to /usr, where the links of addSystemFiles point.
func mergedPath(name string) string {
	for _, dir := range rootLinks {
		if name == dir || strings.HasPrefix(name, dir+"/") {
			return "usr/" + name
		}
	}
	return name
}

var rootLinks = []string{"bin", "sbin", "lib", "lib64"}

// isUseful reports whether a file is needed in a container. Licences must stay.
func isUseful(name string) bool {
	if strings.HasPrefix(name, "usr/share/doc/") {
		return path.Base(name) == "copyright"
	}
	for _, dir := range []string{"usr/share/man", "usr/share/info", "usr/share/locale", "usr/share/lintian", "usr/share/bug", "usr/share/bash-completion",
		"usr/share/postgresql/17/man", "usr/lib/postgresql/17/lib/bitcode", "usr/lib/postgresql/17/lib/llvmjit.so", "usr/lib/postgresql/17/lib/llvmjit_types.bc", "usr/share/git-core/contrib", "etc/init.d", "etc/default", "etc/cron.daily", "usr/lib/systemd", "usr/share/perl5"} {
		if name == dir || strings.HasPrefix(name, dir+"/") {
			return false
		}
	}
	return true
}

// addSystemFiles does what the packages' scripts would have done.
func (t tree) addSystemFiles() {
	for _, dir := range rootLinks {
		delete(t, dir)
		t.link(dir, "usr/"+dir)
	}
	for _, dir := range []string{"usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "proc", "sys", "dev", "run"} {
		t.directory(dir, 0o755)
	}
	t.link("usr/bin/sh", "bash")
	if _, ok := t["usr/bin/mawk"]; ok {
		t.link("usr/bin/awk", "mawk")
	}
	t.link("var/run", "/run")
	t.add("etc/profile", file{content: "PATH=/usr/local/bin:/usr/bin:/usr/sbin\n", mode: 0o644})
}

// checkApt returns an error if apt cannot be used here.
func checkApt() error {
	for _, program := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%s is missing: build this image on Debian or Ubuntu, or with the Dockerfile", program)
		}
	}
	if _, err := os.Stat(keyring); err != nil {
		return fmt.Errorf("%s is missing: install the package debian-archive-keyring", keyring)
	}
	return nil
}
