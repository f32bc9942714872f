// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package declarations

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const (
	root   = "../.."
	module = "github.com/nestor-dev/nestor/"
	apiDir = module + "api/v1beta1"
)

// program is a package of the shipped programs, without its tests.
type program struct {
	path  string
	files []*ast.File
	info  *types.Info
}

// sources contains the packages of the programs, without the API, and the API that they import.
type sources struct {
	fset     *token.FileSet
	programs []program
	api      *types.Package
}

// loaded reads the sources once for all tests.
var loaded = sync.OnceValues(load)

func read(t *testing.T) *sources {
	t.Helper()
	s, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// load type-checks all packages of this module that a program under cmd depends on. Their imports come from the build cache, so the API is
// the same package for all of them.
func load() (*sources, error) {
	type listed struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
		Standard                bool
	}
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Standard", "./cmd/...")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var ours []listed
	exports := map[string]string{}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, module) && p.ImportPath != apiDir {
			ours = append(ours, p)
		}
	}
	s := &sources{fset: token.NewFileSet()}
	compiled := importer.ForCompiler(s.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range ours {
		made := program{path: p.ImportPath, info: &types.Info{Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}, Types: map[ast.Expr]types.TypeAndValue{}}}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(s.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			made.files = append(made.files, file)
		}
		config := types.Config{Importer: compiled}
		if _, err := config.Check(p.ImportPath, s.fset, made.files, made.info); err != nil {
			return nil, err
		}
		s.programs = append(s.programs, made)
	}
	s.api, err = compiled.Import(apiDir)
	return s, err
}

// inspect visits every node of the programs with its ancestors, the nearest last.
func (s *sources) inspect(visit func(p program, node ast.Node, above []ast.Node)) {
	for _, p := range s.programs {
		for _, file := range p.files {
			var above []ast.Node
			ast.Inspect(file, func(node ast.Node) bool {
				if node == nil {
					above = above[:len(above)-1]
					return true
				}
				visit(p, node, above)
				above = append(above, node)
				return true
			})
		}
	}
}
