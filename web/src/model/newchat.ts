// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { annotationFirstWords, annotationTitle, type Chat, type Workspace } from '../api/types';
import { firstWords } from './format';

export type WorkspaceKind = 'default' | 'none' | 'git' | 'claim' | 'empty' | 'copied';

/** The settings of a chat that does not exist yet, as the person typed them. */
export interface Draft {
  title: string;
  name: string;
  role: string;
  provider: string;
  model: string;
  workspace: WorkspaceKind;
  url: string;
  ref: string;
  secret: string;
  claim: string;
  readOnly: boolean;
  tokens: string;
  cost: string;
  /** The currency of the cost, if it is known: that of the provider's prices. */
  currency?: string;
  depth: string;
  parallel: string;
  /** The chat that it was copied from. */
  base?: Chat['spec'];
}

/** The settings of a new chat, or of a copy. */
export function draftOf(defaultWorkspace: Workspace | undefined, from?: Chat): Draft {
  const { role = '', modelProvider = '', model = '', limits = {}, workspace } = from?.spec ?? {};
  const title = from?.metadata.annotations?.[annotationTitle];
  const count = (value?: number) => (value ? String(value) : '');
  return {
    title: title ? `Copy of ${title}`.slice(0, longestTitle) : '',
    name: '',
    role: from ? role : '',
    provider: modelProvider,
    model,
    workspace: from ? (workspace ? 'copied' : 'none') : defaultWorkspace ? 'default' : 'none',
    url: workspace?.git?.url ?? '',
    ref: workspace?.git?.ref ?? '',
    secret: workspace?.git?.secretName ?? '',
    claim: workspace?.persistentVolumeClaim?.claimName ?? '',
    readOnly: workspace?.persistentVolumeClaim?.readOnly ?? false,
    tokens: count(limits.maxTotalTokens),
    cost: limits.maxCostMicros ? String(limits.maxCostMicros / 1e6) : '',
    depth: from ? count(limits.maxDepth) : '',
    parallel: from ? count(limits.maxParallelTasks) : '',
    base: from?.spec,
  };
}

export const longestTitle = 120;

/** What a workspace is, in a few words. */
export function describeWorkspace(workspace: Workspace | undefined): string {
  if (!workspace) return 'no files';
  const { git, persistentVolumeClaim, directory } = workspace;
  if (git) return git.url.replace(/^\w+:\/\//, '') + (git.ref ? ` at ${git.ref}` : '');
  if (persistentVolumeClaim) return `the volume ${persistentVolumeClaim.claimName}`;
  if (directory) return directory.path;
  return 'an empty directory';
}

/** What the API server would refuse, by field. */
export function problemsOf(draft: Draft): Partial<Record<keyof Draft, string>> {
  const problems: Partial<Record<keyof Draft, string>> = {};
  const label = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;
  if (draft.name && (!label.test(draft.name) || draft.name.length > 63)) problems.name = 'Lower-case letters, digits and “-”, at most 63 characters.';
  if (draft.workspace === 'git') {
    if (!/^(https?|ssh):\/\/[^\s/]+\/\S+$/.test(draft.url)) problems.url = 'An https, http or ssh URL, such as https://git.example.com/team/app.git.';
    else if (/^https?:\/\/[^/]*@|^ssh:\/\/[^/@]*:[^/]*@/.test(draft.url)) problems.url = 'Put the credentials into a Secret, not into the URL.';
    if (draft.ref && /^-|\s/.test(draft.ref)) problems.ref = 'A branch, tag or commit.';
    if (draft.secret && !label.test(draft.secret)) problems.secret = 'The name of a Secret of this namespace.';
  }
  if (draft.workspace === 'claim' && !label.test(draft.claim)) problems.claim = 'The name of a PersistentVolumeClaim of this namespace.';
  if (draft.cost && !(Number(draft.cost) > 0)) problems.cost = 'A number greater than 0.';
  if (draft.depth && !between(draft.depth, 1, 5)) problems.depth = 'From 1 to 5.';
  if (draft.parallel && !between(draft.parallel, 1, 1000)) problems.parallel = 'From 1 to 1000.';
  return problems;
}

const between = (text: string, least: number, most: number) => /^\d+$/.test(text) && Number(text) >= least && Number(text) <= most;

function workspaceOf(draft: Draft, defaultWorkspace: Workspace | undefined): Workspace | undefined {
  switch (draft.workspace) {
    case 'default':
      return defaultWorkspace;
    case 'copied':
      return draft.base?.workspace;
    case 'git':
      return { git: { url: draft.url.trim(), ...(draft.ref ? { ref: draft.ref } : {}), ...(draft.secret ? { secretName: draft.secret } : {}) } };
    case 'claim':
      return { persistentVolumeClaim: { claimName: draft.claim, ...(draft.readOnly ? { readOnly: true } : {}) } };
    case 'empty':
      return { emptyDir: {} };
    case 'none':
      return undefined;
  }
}

/** The spec of the chat. What the person left out is left to the API's defaults. */
export function specOf(draft: Draft, defaultWorkspace: Workspace | undefined): Chat['spec'] {
  const { user: _user, workspace: _workspace, limits: before, ...rest } = draft.base ?? {};
  const limits = {
    ...before,
    maxTotalTokens: draft.tokens ? Number(draft.tokens) : undefined,
    maxCostMicros: draft.cost ? Math.round(Number(draft.cost) * 1e6) : undefined,
    maxDepth: draft.depth ? Number(draft.depth) : undefined,
    maxParallelTasks: draft.parallel ? Number(draft.parallel) : undefined,
  };
  return clean({
    ...rest,
    role: draft.role || undefined,
    modelProvider: draft.provider || undefined,
    model: draft.model.trim() || undefined,
    workspace: workspaceOf(draft, defaultWorkspace),
    limits: Object.values(limits).some((value) => value !== undefined) ? clean(limits) : undefined,
  });
}

const clean = <T extends object>(value: T): T => Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;

/** The object as it would be applied, for a chat that begins with a message. */
export function manifest(namespace: string, name: string, draft: Draft, defaultWorkspace: Workspace | undefined, message = '') {
  const annotations = clean({ [annotationTitle]: draft.title.trim() || undefined, [annotationFirstWords]: firstWords(message) || undefined });
  return {
    apiVersion: 'nestor.dev/v1beta1',
    kind: 'AgentChat',
    metadata: { name, namespace, ...(Object.keys(annotations).length > 0 ? { annotations } : {}) },
    spec: specOf(draft, defaultWorkspace),
  };
}
