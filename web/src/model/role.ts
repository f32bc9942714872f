// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Role } from '../api/types';

export type Spec = Record<string, unknown>;

/** An AgentRole as it stands in a repository: without what the API server and the operator set. */
export interface RoleManifest {
  apiVersion: 'nestor.dev/v1beta1';
  kind: 'AgentRole';
  metadata: { name: string; namespace: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  spec: Spec;
}

/** The annotation with which kubectl apply remembers what it applied. */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

export function manifestOf(role: Pick<Role, 'metadata'> & { spec: unknown }): RoleManifest {
  const { name, namespace, labels } = role.metadata;
  const { [lastApplied]: _, ...annotations } = role.metadata.annotations ?? {};
  return {
    apiVersion: 'nestor.dev/v1beta1',
    kind: 'AgentRole',
    metadata: { name, namespace, ...(nonEmpty(labels) ? { labels } : {}), ...(nonEmpty(annotations) ? { annotations } : {}) },
    spec: role.spec as Spec,
  };
}

const nonEmpty = (members: object | undefined) => members !== undefined && Object.keys(members).length > 0;

export function getIn(spec: Spec, path: string[]): unknown {
  return path.reduce<unknown>((value, name) => (typeof value === 'object' && value !== null ? (value as Spec)[name] : undefined), spec);
}

/** A copy of a spec with another value; undefined removes the field, and objects that it leaves empty. */
export function setIn(spec: Spec, [name, ...rest]: string[], value: unknown): Spec {
  const { [name!]: old, ...others } = spec;
  const next = rest.length === 0 ? value : setIn(typeof old === 'object' && old !== null ? (old as Spec) : {}, rest, value);
  if (next === undefined || (rest.length > 0 && !nonEmpty(next as Spec))) return others;
  return { ...spec, [name!]: next };
}

export interface RoleField {
  path: string[];
  label: string;
  kind: 'text' | 'long' | 'number' | 'lines' | 'choice' | 'flag';
  about?: string;
  options?: string[];
}

/** The fields of the form. Other fields of a role are kept as they are. */
export const roleFields: { title: string; fields: RoleField[] }[] = [
  {
    title: 'What it is',
    fields: [
      { path: ['displayName'], label: 'Display name', kind: 'text' },
      { path: ['description'], label: 'Description', kind: 'text', about: 'Agents that may delegate to the role read it.' },
      { path: ['systemPrompt'], label: 'System prompt', kind: 'long' },
    ],
  },
  {
    title: 'Model',
    fields: [
      { path: ['modelProvider'], label: 'Provider', kind: 'text' },
      { path: ['model'], label: 'Model', kind: 'text' },
      { path: ['reasoningEffort'], label: 'Reasoning effort', kind: 'choice', options: ['None', 'Low', 'Medium', 'High'] },
      { path: ['temperature'], label: 'Temperature', kind: 'text', about: 'From 0 to 2.' },
      { path: ['maxOutputTokens'], label: 'Tokens of a reply', kind: 'number' },
    ],
  },
  {
    title: 'Tools and delegation',
    fields: [
      { path: ['tools', 'allow'], label: 'Tools', kind: 'lines', about: 'One per line, such as notes__*. If empty, the built-in tools.' },
      { path: ['tools', 'deny'], label: 'Except', kind: 'lines', about: 'One per line.' },
      { path: ['approval', 'mode'], label: 'Approval', kind: 'choice', options: ['WriteTools', 'Always', 'Never'] },
      { path: ['approval', 'denyRequesters'], label: 'Requesters may not decide', kind: 'flag' },
      { path: ['delegation', 'roles'], label: 'Delegates to', kind: 'lines', about: 'Roles, one per line. If empty, it may not delegate.' },
    ],
  },
  {
    title: 'Limits of each agent',
    fields: [
      { path: ['limits', 'maxIterations'], label: 'Iterations', kind: 'number' },
      { path: ['limits', 'maxDurationSeconds'], label: 'Seconds', kind: 'number' },
      { path: ['limits', 'maxTotalTokens'], label: 'Tokens', kind: 'number' },
      { path: ['limits', 'maxCostMicros'], label: 'Cost in millionths of the currency', kind: 'number' },
    ],
  },
];

/** The fields of a spec that the form does not show. */
export function otherFields(spec: Spec): string[] {
  const shown = new Set(roleFields.flatMap(({ fields }) => fields.map(({ path }) => path[0])));
  return Object.keys(spec).filter((name) => !shown.has(name));
}

/** The program that applies the role from a repository, if it can be recognised. */
export function gitOpsManager(role: Role): string | undefined {
  const { managedFields = [], labels = {}, annotations = {} } = role.metadata;
  const manager = managedFields.map(({ manager: name }) => name).find((name) => /argocd|flux|kustomize-controller|helm|config-sync|fleet/i.test(name));
  if (manager) return manager;
  if ('argocd.argoproj.io/tracking-id' in annotations || 'argocd.argoproj.io/instance' in labels) return 'Argo CD';
  if ('kustomize.toolkit.fluxcd.io/name' in labels) return 'Flux';
  return labels['app.kubernetes.io/managed-by'];
}
