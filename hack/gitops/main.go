// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Command gitops prints the health of objects as GitOps tools see it: kstatus, which Flux and others use for unknown
// kinds, Flux with the expressions of a Kustomization, and Argo CD with the script of its ConfigMap. kstatus and Flux
// are used as libraries. For Argo CD only its interpreter, gopher-lua, is used; lua.go implements the contract in
// Argo CD's documentation. It is a separate module because of its dependencies.
//
//	gitops --flux team.yaml --argocd argocd-cm.yaml < objects.yaml
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const layout = "%-14s %-12s %-12s %-12s %s\n"

func main() {
	flux := flag.String("flux", "", "`file` with a Kustomization of Flux")
	argocd := flag.String("argocd", "", "`file` with the ConfigMap of Argo CD")
	flag.Parse()
	if err := run(*flux, *argocd, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gitops:", err)
		os.Exit(1)
	}
}

func run(flux, argocd string, in io.Reader, out io.Writer) error {
	expressions, err := readExpressions(flux)
	if err != nil {
		return err
	}
	script, err := readScript(argocd)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, layout, "", "", "kstatus", "Flux", "Argo CD"); err != nil {
		return err
	}
	objects := utilyaml.NewYAMLReader(bufio.NewReader(in))
	for {
		document, err := objects.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the objects: %w", err)
		}
		object := &unstructured.Unstructured{}
		if err := utilyaml.Unmarshal(document, &object.Object); err != nil {
			return fmt.Errorf("parse an object: %w", err)
		}
		if err := printStatus(out, object, expressions, script); err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
}

func printStatus(out io.Writer, object *unstructured.Unstructured, expressions map[string]*cel.StatusEvaluator, script string) error {
	plain, err := status.Compute(object)
	if err != nil {
		return fmt.Errorf("kstatus: %w", err)
	}
	flux := plain
	if evaluator := expressions[object.GetKind()]; evaluator != nil {
		if flux, err = evaluator.Evaluate(context.Background(), object); err != nil {
			return fmt.Errorf("flux: %w", err)
		}
	}
	argo, err := health(script, object.Object)
	if err != nil {
		return fmt.Errorf("argocd: %w", err)
	}
	_, err = fmt.Fprintf(out, layout, object.GetKind(), object.GetName(), plain.Status, flux.Status, argo)
	return err
}

func readExpressions(path string) (map[string]*cel.StatusEvaluator, error) {
	var kustomization struct {
		Spec struct {
			HealthCheckExprs []kustomize.CustomHealthCheck `json:"healthCheckExprs"`
		} `json:"spec"`
	}
	if err := readYAML(path, &kustomization); err != nil {
		return nil, err
	}
	evaluators := map[string]*cel.StatusEvaluator{}
	for _, check := range kustomization.Spec.HealthCheckExprs {
		evaluator, err := cel.NewStatusEvaluator(&check.HealthCheckExpressions)
		if err != nil {
			return nil, fmt.Errorf("expressions of %s: %w", check.Kind, err)
		}
		evaluators[check.Kind] = evaluator
	}
	return evaluators, nil
}

func readScript(path string) (string, error) {
	var config struct {
		Data map[string]string `json:"data"`
	}
	if err := readYAML(path, &config); err != nil {
		return "", err
	}
	var customizations map[string]struct {
		Health string `json:"health.lua"`
	}
	if err := yaml.Unmarshal([]byte(config.Data["resource.customizations"]), &customizations); err != nil {
		return "", fmt.Errorf("parse resource.customizations: %w", err)
	}
	script := customizations["nestor.dev/*"].Health
	if script == "" {
		return "", fmt.Errorf("%s has no health.lua for nestor.dev/*", path)
	}
	return script, nil
}

func readYAML(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		return fmt.Errorf("parse %s: %w", path, err)
	}
	return nil
}
