// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/nestor-dev/nestor/internal/version"
)

func newVersion(f *Factory) *cobra.Command {
	o := format{}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Long:  "Print the version of this program. It does not contact the cluster; `kubectl nestor doctor` does.",
		Example: dedent(`
			kubectl nestor version
			kubectl nestor version -o json
		`),
		Args: argCount(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if o.value == "" {
				fmt.Fprintln(f.streams.Out, "kubectl-nestor", version.String())
				return nil
			}
			s := &session{IOStreams: f.streams}
			return s.printReport(o, map[string]string{"version": version.String(), "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH})
		},
	}
	o.register(cmd)
	return cmd
}
