// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	historyv1beta1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/e2e/realnode"
	"github.com/nestor-dev/nestor/test/patience"
)

// Names in the cluster.
const (
	systemNamespace = "nestor-system"
	modelNamespace  = "models"
	release         = "nestor"
	definitions     = "nestor-crds"
	operator        = "nestor-operator"
)

type cluster struct {
	kubeconfig string
	// registry is the prefix of the images' names.
	registry string
	// tag is that of the images.
	tag string
	// release is the directory with the files of a release, which is installed from them alone; empty for the charts and images of make e2e.
	release string
	// node is the cluster that the suite started; nil if one was given.
	node   *realnode.Node
	config *rest.Config
	// api is an administrator's client, and core the same for logs and proxies.
	api  client.WithWatch
	core *kubernetes.Clientset
	// before lists the objects before the installation.
	before map[string]bool
	// made lists the namespaces that scenarios created.
	made []string
}

// start connects to the given cluster, or starts one.
func (c *cluster) start(ctx context.Context) {
	c.kubeconfig, c.registry, c.tag = os.Getenv("E2E_KUBECONFIG"), os.Getenv("E2E_REGISTRY"), "e2e"
	if c.release = os.Getenv("E2E_RELEASE"); c.release != "" {
		c.tag = filepath.Base(c.release)
	}
	if c.registry == "" {
		c.registry = "localhost" // the names in the archives
	}
	if c.kubeconfig == "" {
		c.startNode(ctx)
	}
	var err error
	c.config, err = clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	c.config.QPS, c.config.WarningHandler = -1, rest.NoWarnings{} // this reads deprecated kinds too
	c.core, err = kubernetes.NewForConfig(c.config)
	Expect(err).NotTo(HaveOccurred())
	c.api = c.newClient(c.config)
}

func (c *cluster) startNode(ctx context.Context) {
	bin := os.Getenv("NODE_BIN")
	Expect(realnode.Missing(bin)).To(Succeed())
	archives, err := filepath.Glob(filepath.Join(os.Getenv("E2E_IMAGES"), "*.tar"))
	Expect(err).NotTo(HaveOccurred())
	Expect(archives).NotTo(BeEmpty(), "E2E_IMAGES must be the directory that make e2e-images has filled")
	options := realnode.Options{Bin: bin, Images: archives, Out: os.Stdout}
	if c.release != "" {
		released, err := filepath.Glob(filepath.Join(c.release, "nestor-*.tar"))
		Expect(err).NotTo(HaveOccurred())
		Expect(released).NotTo(BeEmpty(), "E2E_RELEASE must be the directory that make release has filled")
		options.Images, options.Repository = append(options.Images, released...), c.registry+"/nestor-dev"
	}
	c.node, err = realnode.Start(ctx, options)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(c.node.Stop()).To(Succeed()) })
	c.kubeconfig = c.node.Kubeconfig
}

func (c *cluster) newClient(config *rest.Config) client.WithWatch {
	GinkgoHelper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1beta1.AddToScheme, historyv1beta1.AddToScheme} {
		Expect(add(scheme)).To(Succeed())
	}
	api, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	return api
}

func (c *cluster) as(user string) client.WithWatch {
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	return c.newClient(config)
}

// namespace creates a namespace that enforces restricted pods, and grants users access to it.
func (c *cluster) namespace(ctx context.Context, name string, users ...string) {
	GinkgoHelper()
	Expect(c.api.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}})).To(Succeed())
	c.made = append(c.made, name)
	for _, user := range users {
		c.kubectl(ctx, "-n", name, "create", "rolebinding", "talks-"+user, "--clusterrole=nestor-user", "--user="+user)
		c.kubectl(ctx, "-n", name, "create", "role", "volumes-"+user, "--verb=get", "--resource=persistentvolumeclaims")
		c.kubectl(ctx, "-n", name, "create", "rolebinding", "volumes-"+user, "--role=volumes-"+user, "--user="+user)
	}
}

// kubectl runs kubectl, which must succeed.
func (c *cluster) kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	out, err := c.tryKubectl(ctx, args...)
	Expect(err).NotTo(HaveOccurred())
	return out
}

func (c *cluster) tryKubectl(ctx context.Context, args ...string) (string, error) {
	return c.run(ctx, "", "kubectl", args...)
}

func (c *cluster) apply(ctx context.Context, manifest string) {
	GinkgoHelper()
	_, err := c.run(ctx, manifest, "kubectl", "apply", "-f", "-")
	Expect(err).NotTo(HaveOccurred())
}

// helm runs the pinned Helm, which must succeed.
func (c *cluster) helm(ctx context.Context, args ...string) string {
	GinkgoHelper()
	out, err := c.run(ctx, "", "go", append([]string{"tool", "-modfile=../../hack/tools/go.mod", "helm"}, args...)...)
	Expect(err).NotTo(HaveOccurred())
	return out
}

func (c *cluster) run(ctx context.Context, input, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin = strings.NewReader(input)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig, "PATH="+os.Getenv("NODE_BIN")+":"+os.Getenv("PATH"))
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w\n%s%s", program, strings.Join(args, " "), err, out.String(), words.String())
	}
	return out.String(), nil
}

// reportFailure reports the state of the cluster after a failure.
func (c *cluster) reportFailure(ctx context.Context) {
	if !CurrentSpecReport().Failed() || c.api == nil {
		return
	}
	for _, args := range [][]string{
		{"get", "pods,nestor", "-A", "-o", "wide"},
		{"get", "events", "-A", "--sort-by=.lastTimestamp"},
		{"-n", systemNamespace, "logs", "deployment/" + operator, "--all-pods", "--tail=60"},
	} {
		looking, cancel := context.WithTimeout(ctx, patience.Limit())
		out, err := c.tryKubectl(looking, args...)
		cancel()
		if err != nil {
			out = err.Error()
		}
		AddReportEntry("kubectl "+strings.Join(args, " "), out)
	}
}
