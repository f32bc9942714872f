// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	filesPath       = "/workspace"
	credentialsPath = "/var/run/nestor/git"
	basePath        = "/var/run/nestor/base"
	baseFile        = basePath + "/commit"
	statePath       = "/var/lib/nestor"
	filesVolume     = "files"
	baseVolume      = "base"
	stateVolume     = "state"
	tempVolume      = "tmp"
	cloneTempVolume = "clone-tmp"
	credentialsName = "git-credentials"
)

// WaitForRestore is the argument of a server that refuses calls until the saved changes are restored.
const WaitForRestore = "--await-restore"

// user is the UID of "nonroot" in distroless and many other images.
const user = int64(65532)

func Pod(s Spec) *corev1.Pod {
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: s.meta(),
		Spec: corev1.PodSpec{
			Containers:                    []corev1.Container{server(s)},
			Volumes:                       volumes(s),
			AutomountServiceAccountToken:  new(false),
			EnableServiceLinks:            new(false),
			HostAliases:                   s.Hosts,
			RestartPolicy:                 corev1.RestartPolicyAlways,
			TerminationGracePeriodSeconds: new(int64(15)),
			NodeSelector:                  s.Placement.NodeSelector,
			Tolerations: append([]corev1.Toleration{tolerateBriefly("node.kubernetes.io/not-ready"), tolerateBriefly("node.kubernetes.io/unreachable")},
				s.Placement.Tolerations...),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), RunAsUser: new(user), RunAsGroup: new(user), FSGroup: new(user),
				FSGroupChangePolicy: new(corev1.FSGroupChangeOnRootMismatch),
				SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
		},
	}
	if name := s.Placement.RuntimeClassName; name != "" {
		pod.Spec.RuntimeClassName = &name
	}
	if s.Publish != nil {
		pod.Spec.Containers, pod.Spec.Volumes = []corev1.Container{publisher(s)}, publisherVolumes(s)
		return pod
	}
	if s.Source.Git != nil {
		pod.Spec.InitContainers = []corev1.Container{clone(s)}
	}
	return pod
}

// tolerateBriefly returns a toleration that evicts the pod from a lost node after half a minute instead of five,
// because an agent waits for its files.
func tolerateBriefly(taint string) corev1.Toleration {
	return corev1.Toleration{
		Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(30)),
	}
}

func server(s Spec) corev1.Container {
	args := []string{"--root=" + filesPath, "--listen=:" + strconv.Itoa(Port), "--bash-writable=/tmp,/dev/shm", "--state=" + statePath,
		"--allow-env=GIT_CONFIG_COUNT,GIT_CONFIG_KEY_0,GIT_CONFIG_VALUE_0"}
	mounts := []corev1.VolumeMount{
		{Name: filesVolume, MountPath: filesPath, ReadOnly: s.readOnly()}, {Name: tempVolume, MountPath: "/tmp"}, {Name: stateVolume, MountPath: statePath},
	}
	switch {
	case s.Source.Git != nil:
		args = append(args, "--base-file="+baseFile, WaitForRestore)
		mounts = append(mounts, corev1.VolumeMount{Name: baseVolume, MountPath: basePath, ReadOnly: true})
	case s.Source.EmptyDir != nil:
		args = append(args, "--empty-base", WaitForRestore)
	case s.readOnly():
		args = append(args, "--read-only")
	}
	return corev1.Container{
		Name:       Container,
		Image:      s.Image,
		Command:    []string{"nestor-workspace"},
		Args:       args,
		WorkingDir: filesPath,
		Env: []corev1.EnvVar{
			{Name: "NESTOR_WORKSPACE_TOKEN", ValueFrom: tokenRef(s)},
			// A volume's directory belongs to root, and git refuses repositories in another user's directory.
			{Name: "GIT_CONFIG_COUNT", Value: "1"}, {Name: "GIT_CONFIG_KEY_0", Value: "safe.directory"}, {Name: "GIT_CONFIG_VALUE_0", Value: "*"},
		},
		Ports:           []corev1.ContainerPort{{Name: "mcp", ContainerPort: Port, Protocol: corev1.ProtocolTCP}},
		Resources:       s.resources(),
		VolumeMounts:    mounts,
		SecurityContext: restricted(),
		ReadinessProbe:  probe(2, 3),
		LivenessProbe:   probe(20, 6),
	}
}

func clone(s Spec) corev1.Container {
	git := s.Source.Git
	c := corev1.Container{
		Name:      "clone",
		Image:     s.Image,
		Command:   []string{"nestor-workspace"},
		Args:      []string{"clone", "--root=" + filesPath, "--url=" + git.URL, "--ref=" + git.Ref, "--base-file=" + baseFile},
		Resources: s.resources(),
		VolumeMounts: []corev1.VolumeMount{
			{Name: filesVolume, MountPath: filesPath}, {Name: cloneTempVolume, MountPath: "/tmp"}, {Name: baseVolume, MountPath: basePath},
		},
		SecurityContext: restricted(),
		// The end of git's output becomes the pod's message if cloning fails.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	if git.Commit != "" {
		c.Args = append(c.Args, "--commit="+git.Commit)
	}
	if git.SecretName != "" {
		c.Args = append(c.Args, "--credentials="+credentialsPath)
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: credentialsName, MountPath: credentialsPath, ReadOnly: true})
	}
	return c
}

func volumes(s Spec) []corev1.Volume {
	all := []corev1.Volume{
		{Name: filesVolume, VolumeSource: s.files()},
		{Name: tempVolume, VolumeSource: emptyDir(resource.MustParse("1Gi"))},
		// Bash cannot write it where Landlock is available: git runs with the configuration in it.
		{Name: stateVolume, VolumeSource: emptyDir(resource.MustParse("1Gi"))},
	}
	git := s.Source.Git
	if git == nil {
		return all
	}
	// The clone has its own temporary volume, in which a killed clone leaves a copy of the key. The server only reads
	// the base, so that no command can change the commit that changes are compared with.
	all = append(all, corev1.Volume{Name: cloneTempVolume, VolumeSource: emptyDir(resource.MustParse("16Mi"))},
		corev1.Volume{Name: baseVolume, VolumeSource: emptyDir(resource.MustParse("1Mi"))})
	if git.SecretName != "" {
		all = append(all, credentialsVolume(git.SecretName))
	}
	return all
}

func emptyDir(limit resource.Quantity) corev1.VolumeSource {
	return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &limit}}
}

func (s Spec) files() corev1.VolumeSource {
	if claim := s.Source.PersistentVolumeClaim; claim != nil {
		return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.ClaimName, ReadOnly: claim.ReadOnly}}
	}
	limit := resource.MustParse("5Gi")
	if !s.MaxSize.IsZero() && limit.Cmp(s.MaxSize) > 0 {
		limit = s.MaxSize
	}
	if dir := s.Source.EmptyDir; dir != nil && dir.SizeLimit != nil {
		limit = *dir.SizeLimit
	}
	return emptyDir(limit)
}

func (s Spec) readOnly() bool {
	return s.Source.PersistentVolumeClaim != nil && s.Source.PersistentVolumeClaim.ReadOnly
}

func (s Spec) resources() corev1.ResourceRequirements {
	if s.Resources.Limits == nil && s.Resources.Requests == nil {
		return DefaultResources()
	}
	return s.Resources
}

func tokenRef(s Spec) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: s.Name()}, Key: TokenKey,
	}}
}

// restricted returns the security context that the restricted Pod Security Standard requires, with a read-only root
// file system.
func restricted() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem:   new(true),
		RunAsNonRoot:             new(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

func probe(period, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:     corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString("mcp")}},
		PeriodSeconds:    period,
		FailureThreshold: failures,
		TimeoutSeconds:   5,
	}
}
