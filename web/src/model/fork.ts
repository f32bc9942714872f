// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Person, Task, Workspace } from '../api/types';
import { requesterOf } from './requester';
import { quoted } from './again';

/** What a fork does differently, and where its results come from. */
export interface ForkDraft {
  sequence: number;
  role: string;
  modelProvider: string;
  model: string;
  instruction: string;
  toolResults: 'Recorded' | 'ReadOnly' | 'Live';
}

/** The run that is forked: its task, and its sub-agent. */
export interface Forked {
  task: Task;
  subAgent: string;
  uid: string;
}

/** The manifest of a fork. */
export function forkOf({ task, subAgent, uid }: Forked, draft: ForkDraft, person: Pick<Person, 'user' | 'groups'>, suffix: string) {
  const { name, namespace } = task.metadata;
  const { role, modelProvider, model, instruction } = draft;
  const changed = Object.fromEntries(Object.entries({ role, modelProvider, model, instruction }).filter(([, value]) => value.trim() !== ''));
  const workspace = draft.toolResults === 'Recorded' ? undefined : anew(task.spec.workspace);
  return {
    apiVersion: 'nestor.dev/v1beta1',
    kind: 'AgentTask',
    metadata: { name: `${name.slice(0, 63 - '-fork-'.length - suffix.length).replace(/-+$/, '')}-fork-${suffix}`, namespace },
    spec: {
      type: 'Agent' as const,
      fork: { uid, ...(subAgent === name ? { task: name } : { subAgent }), sequence: draft.sequence, toolResults: draft.toolResults },
      ...changed,
      ...(workspace ? { workspace } : {}),
      ...requesterOf(person),
    },
  };
}

/** The workspace of a fork whose tools run: that of the task, which begins anew. A claim is not shared. */
function anew(workspace: Workspace | undefined): Workspace | undefined {
  if (workspace?.git) {
    const { push: _push, ...git } = workspace.git as NonNullable<Workspace['git']> & { push?: unknown };
    return { ...workspace, git };
  }
  return workspace?.emptyDir ? workspace : undefined;
}

/** The command that creates the same fork. */
export function forkCommand({ task: { metadata } }: Forked, { sequence, role, modelProvider, model, instruction, toolResults }: ForkDraft): string {
  const flags = { role, provider: modelProvider, model, instruction, results: toolResults === 'Recorded' ? '' : toolResults };
  const given = Object.entries(flags).filter(([, value]) => value.trim() !== '');
  return [`kubectl nestor fork ${metadata.name} -n ${metadata.namespace} --at ${sequence}`, ...given.map(([flag, value]) => `--${flag} ${/^[\w./:-]+$/.test(value) ? value : quoted(value)}`)].join(' ');
}
