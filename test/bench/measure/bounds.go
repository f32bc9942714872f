// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/nestor-dev/nestor/test/bench/drive"
	"github.com/nestor-dev/nestor/test/bench/report"
)

// blobs is the kind for measuring bounds, whose status accepts anything of any size.
const blobs = "/apis/bench.nestor.dev/v1/namespaces/default/blobs"

// Bounds measures the maximum performance of the control plane. Nothing else may run meanwhile, including the
// operator whose credentials these are.
func Bounds(ctx context.Context, config, operator *rest.Config, processes map[string]int, each time.Duration) (report.Bounds, error) {
	var b report.Bounds
	if err := installBlobs(config); err != nil {
		return b, err
	}
	client, err := drive.NewClient(config)
	if err != nil {
		return b, err
	}
	// The first round is slow and is discarded.
	if _, err := putRate(ctx, client, 1<<10, each/2); err != nil {
		return b, err
	}
	for _, bound := range []struct {
		size int
		rate *float64
	}{{2 << 10, &b.StatusPut2KB}, {20 << 10, &b.StatusPut20KB}, {100 << 10, &b.StatusPut100KB}} {
		if *bound.rate, err = putRate(ctx, client, bound.size, each); err != nil {
			return b, err
		}
	}
	if b.Create2KB, err = createRate(ctx, client, each); err != nil {
		return b, err
	}
	asOperator, err := drive.NewClient(operator)
	if err != nil {
		return b, err
	}
	if _, err := agentRate(ctx, client, asOperator, "first", each/2); err != nil {
		return b, err
	}
	before, err := cpuSeconds(processes)
	if err != nil {
		return b, err
	}
	if b.Agents, err = agentRate(ctx, client, asOperator, "bound", each); err != nil {
		return b, err
	}
	after, err := cpuSeconds(processes)
	b.AgentMillis = map[string]float64{}
	for name, used := range after {
		b.AgentMillis[name] = 1000 * (used - before[name]) / (b.Agents * each.Seconds())
	}
	return b, err
}

// cpuSeconds returns the CPU time of each process.
func cpuSeconds(processes map[string]int) (map[string]float64, error) {
	used := map[string]float64{}
	for name, pid := range processes {
		var err error
		if used[name], err = CPUSeconds(pid); err != nil {
			return nil, err
		}
	}
	return used, nil
}

func installBlobs(config *rest.Config) error {
	anything := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "blobs.bench.nestor.dev"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "bench.nestor.dev", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Blob", ListKind: "BlobList", Plural: "blobs", Singular: "blob"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &anything},
			}},
		},
	}
	if _, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}}); err != nil {
		return fmt.Errorf("install the kind that the bounds are measured on: %w", err)
	}
	return nil
}

func createRate(ctx context.Context, client *drive.Client, each time.Duration) (float64, error) {
	payload := strings.Repeat("x", 2<<10)
	return rate(ctx, each, func(ctx context.Context, writer, turn int) error {
		body := fmt.Sprintf(`{"apiVersion":"bench.nestor.dev/v1","kind":"Blob","metadata":{"name":"c-%d-%d"},"spec":{"data":"%s"}}`, writer, turn, payload)
		_, err := client.Write(ctx, http.MethodPost, blobs, []byte(body))
		return err
	})
}

// putRate measures status updates, with one object per writer.
func putRate(ctx context.Context, client *drive.Client, size int, each time.Duration) (float64, error) {
	versions := make([]string, drive.Writers)
	for i := range versions {
		body := fmt.Sprintf(`{"apiVersion":"bench.nestor.dev/v1","kind":"Blob","metadata":{"name":"p-%d-%d"}}`, size, i)
		answer, err := client.Write(ctx, http.MethodPost, blobs, []byte(body))
		if err != nil {
			return 0, err
		}
		versions[i] = resourceVersion(answer)
	}
	payload := strings.Repeat("x", size)
	return rate(ctx, each, func(ctx context.Context, writer, turn int) error {
		name := fmt.Sprintf("p-%d-%d", size, writer)
		body := fmt.Sprintf(`{"apiVersion":"bench.nestor.dev/v1","kind":"Blob","metadata":{"name":"%s","resourceVersion":"%s"},"status":{"turn":%d,"data":"%s"}}`,
			name, versions[writer], turn, payload)
		answer, err := client.Write(ctx, http.MethodPut, blobs+"/"+name+"/status", []byte(body))
		versions[writer] = resourceVersion(answer)
		return err
	})
}

func resourceVersion(answer []byte) string { return metadataField(answer, "resourceVersion") }

// metadataField finds a field of the metadata without decoding: it precedes the data.
func metadataField(answer []byte, name string) string {
	_, rest, _ := bytes.Cut(answer, []byte(`"`+name+`":"`))
	value, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(value)
}

// rate returns the operations per second of many writers.
func rate(ctx context.Context, each time.Duration, do func(ctx context.Context, writer, turn int) error) (float64, error) {
	var done atomic.Int64
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for writer := range drive.Writers {
		group.Go(func() error {
			for turn := 0; time.Since(began) < each; turn++ {
				if err := do(ctx, writer, turn); err != nil {
					return err
				}
				done.Add(1)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return 0, fmt.Errorf("measure a bound: %w", err)
	}
	return float64(done.Load()) / time.Since(began).Seconds(), nil
}
