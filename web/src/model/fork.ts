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
  modelReplies: 'Recorded' | 'Live';
  toolResults: 'Recorded' | 'ReadOnly' | 'Live';
}

/** The run that is forked: its task, and its sub-agent. */
export interface Forked {
  task: Task;
  subAgent: string;
  uid: string;
}

const changesOf = ({ role, modelProvider, model, instruction }: ForkDraft) =>
  Object.fromEntries(Object.entries({ role, modelProvider, model, instruction }).filter(([, value]) => value.trim() !== ''));

export const isChanged = (draft: ForkDraft) => Object.keys(changesOf(draft)).length > 0;

/** Where the model's replies come from: the recorded ones do not fit a run with a change. */
export const repliesOf = (draft: ForkDraft): ForkDraft['modelReplies'] => (isChanged(draft) ? 'Live' : draft.modelReplies);

/** The manifest of a fork. */
export function forkOf({ task, subAgent, uid }: Forked, draft: ForkDraft, person: Pick<Person, 'user' | 'groups'>, suffix: string) {
  const { name, namespace } = task.metadata;
  const workspace = draft.toolResults === 'Recorded' ? undefined : anew(task.spec.workspace);
  return {
    apiVersion: 'nestor.dev/v1beta1',
    kind: 'AgentTask',
    metadata: { name: `${name.slice(0, 63 - '-fork-'.length - suffix.length).replace(/-+$/, '')}-fork-${suffix}`, namespace },
    spec: {
      type: 'Agent' as const,
      fork: { uid, ...(subAgent === name ? { task: name } : { subAgent }), sequence: draft.sequence, modelReplies: repliesOf(draft), toolResults: draft.toolResults },
      ...changesOf(draft),
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
export function forkCommand({ task: { metadata } }: Forked, draft: ForkDraft): string {
  const { sequence, role, modelProvider, model, instruction, toolResults } = draft;
  const replies = repliesOf(draft);
  const flags = { role, provider: modelProvider, model, instruction, replies: replies === 'Live' ? '' : replies, results: toolResults === 'Recorded' ? '' : toolResults };
  const given = Object.entries(flags).filter(([, value]) => value.trim() !== '');
  return [`kubectl nestor fork ${metadata.name} -n ${metadata.namespace} --at ${sequence}`, ...given.map(([flag, value]) => `--${flag} ${/^[\w./:-]+$/.test(value) ? value : quoted(value)}`)].join(' ');
}
