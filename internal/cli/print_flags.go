// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
)

// printFlags is the -o flag with kubectl's formats except go-template: for templates, which call methods by name, the linker keeps every
// method of every type.
type printFlags struct {
	format   string
	jsonYAML *genericclioptions.JSONYamlPrintFlags
	name     *genericclioptions.NamePrintFlags
	jsonPath *genericclioptions.JSONPathPrintFlags
}

// newPrintFlags returns flags that print, without a format, the name of an object and what was done with it.
func newPrintFlags(operation string) *printFlags {
	return &printFlags{
		jsonYAML: genericclioptions.NewJSONYamlPrintFlags(),
		name:     genericclioptions.NewNamePrintFlags(operation),
		jsonPath: genericclioptions.NewJSONPathPrintFlags("", true),
	}
}

// add adds the -o flag and hides the less common flags that come with it.
func (f *printFlags) add(cmd *cobra.Command) {
	f.jsonYAML.AddFlags(cmd)
	f.jsonPath.AddFlags(cmd)
	for _, name := range []string{"allow-missing-template-keys", "show-managed-fields", "template"} {
		_ = cmd.Flags().MarkHidden(name)
	}
	cmd.Flags().StringVarP(&f.format, "output", "o", "", "Output format: json, yaml, name, or a template such as jsonpath='{.metadata.name}'.")
}

func (f *printFlags) printer(scheme *runtime.Scheme) (printers.ResourcePrinter, error) {
	for _, flags := range []interface {
		ToPrinter(format string) (printers.ResourcePrinter, error)
	}{f.jsonYAML, f.name, f.jsonPath} {
		if p, err := flags.ToPrinter(f.format); !genericclioptions.IsNoCompatiblePrinterError(err) {
			return printers.NewTypeSetter(scheme).WrapToPrinter(p, err)
		}
	}
	return nil, genericclioptions.NoCompatiblePrinterError{OutputFormat: &f.format,
		AllowedFormats: slices.Concat(f.jsonYAML.AllowedFormats(), f.name.AllowedFormats(), f.jsonPath.AllowedFormats())}
}
