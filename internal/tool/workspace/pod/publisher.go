// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// publisher returns the container that pushes changes. It is alone in its pod, so no agent code runs beside the
// credentials.
func publisher(s Spec) corev1.Container {
	git := s.Source.Git
	c := corev1.Container{
		Name:    Container,
		Image:   s.Image,
		Command: []string{"nestor-workspace"},
		Args: []string{"publish", "--root=" + filesPath, "--listen=:" + strconv.Itoa(Port), "--url=" + git.URL, "--ref=" + git.Ref,
			"--branch=" + s.Publish.Branch, "--owner=" + s.Owner.UID},
		Env:             []corev1.EnvVar{{Name: "NESTOR_WORKSPACE_TOKEN", ValueFrom: tokenRef(s)}},
		Ports:           []corev1.ContainerPort{{Name: "mcp", ContainerPort: Port, Protocol: corev1.ProtocolTCP}},
		Resources:       s.resources(),
		VolumeMounts:    []corev1.VolumeMount{{Name: filesVolume, MountPath: filesPath}, {Name: tempVolume, MountPath: "/tmp"}},
		SecurityContext: restricted(),
		ReadinessProbe:  probe(2, 3),
	}
	for _, glob := range s.Publish.AllowPaths {
		c.Args = append(c.Args, "--allow-path="+glob)
	}
	if git.SecretName != "" {
		c.Args = append(c.Args, "--credentials="+credentialsPath)
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: credentialsName, MountPath: credentialsPath, ReadOnly: true})
	}
	return c
}

func publisherVolumes(s Spec) []corev1.Volume {
	all := []corev1.Volume{
		{Name: filesVolume, VolumeSource: s.files()},
		{Name: tempVolume, VolumeSource: emptyDir(resource.MustParse("16Mi"))},
	}
	if name := s.Source.Git.SecretName; name != "" {
		all = append(all, credentialsVolume(name))
	}
	return all
}

func credentialsVolume(secret string) corev1.Volume {
	return corev1.Volume{Name: credentialsName, VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: secret, DefaultMode: new(int32(0o440))},
	}}
}
