// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { annotationTitle, type Person, type Task } from '../api/types';
import { requesterOf } from './requester';

/** The manifest of a task that does the same as another one: the same spec, requested by this person. */
export function copyOf({ metadata, spec }: Task, person: Pick<Person, 'user' | 'groups'>, suffix: string) {
  const { cancel: _cancel, group: _group, user: _user, userGroups: _userGroups, fireUser: _firedBy, ...same } = spec;
  const title = metadata.annotations?.[annotationTitle];
  return {
    apiVersion: 'nestor.dev/v1beta1',
    kind: 'AgentTask',
    metadata: { name: copyName(metadata.name, suffix), namespace: metadata.namespace, ...(title ? { annotations: { [annotationTitle]: title } } : {}) },
    spec: { ...same, ...requesterOf(person, spec.tool) },
  };
}

/** The command that creates a copy of a task from what the API server has, for a task that the browser cannot copy exactly. */
export function copyCommand({ metadata: { name, namespace, annotations = {} } }: Task, copy: ReturnType<typeof copyOf>): string {
  const others = Object.keys(annotations).filter((key) => key !== annotationTitle);
  const patch = {
    metadata: { name: copy.metadata.name, uid: null, resourceVersion: null, labels: null, finalizers: null, ownerReferences: null, annotations: Object.fromEntries(others.map((key) => [key, null])) },
    spec: { user: copy.spec.user, cancel: null, group: null, userGroups: copy.spec.userGroups ?? null, fireUser: null },
    status: null,
  };
  return `kubectl get agenttasks.nestor.dev ${name} -n ${namespace} -o yaml |\n  kubectl patch -f - --local --type=merge -o yaml -p ${quoted(JSON.stringify(patch))} |\n  kubectl create -f -`;
}

/** Quotes a text for a shell. */
export const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** The name of a copy. A copy of a copy has one suffix, too, and no name has more than 63 characters. */
function copyName(name: string, suffix: string): string {
  const base = name.replace(/-again-[a-z0-9]{5}$/, '');
  return `${base.slice(0, 63 - '-again-'.length - suffix.length).replace(/-+$/, '')}-again-${suffix}`;
}
