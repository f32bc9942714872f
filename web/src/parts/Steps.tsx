// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useState } from 'react';
import { wholeArguments } from '../api/client';
import { transcriptOf } from '../api/history';
import { finished, type Node } from '../model/tree';
import { useSite } from '../state/context';
import { useLoad } from '../state/hooks';
import { Icon } from './Icon';
import { isDelegation, ToolCard } from './ToolCard';

/** How many steps a task block shows at first. */
const shown = 3;

/** A question or a delegation does not run: it waits for a person or for children. */
function standing({ tool, phase }: { tool: string; phase: string }): string {
  if (phase !== 'Running') return phase;
  return tool === 'ask_user' ? 'WaitingForUser' : isDelegation(tool) ? 'Delegated' : phase;
}

/** The newest tool calls of a task's agent. The inspector has all of them. */
export function Steps({ node, inspect }: { node: Node; inspect: (name: string) => void }) {
  const [all, setAll] = useState(false);
  const [open, setOpen] = useState<string>();
  const { namespace, person } = useSite();
  const agent = node.agent?.metadata.name;
  const omitted = node.agent?.status?.toolCalls?.find(({ id, argumentsOmitted }) => id === open && argumentsOmitted)?.id;
  // A status has no large arguments; the history has.
  const [whole] = useLoad(() => (omitted && agent && person.may.readTranscripts ? wholeArguments(namespace, transcriptOf('subagent', agent), omitted, () => true) : Promise.resolve(undefined)), [namespace, agent, omitted]);
  const inHistory = whole.state === 'done' ? whole.value : undefined;
  // A question that waits for an answer is shown as a question.
  const calls = (node.agent?.status?.toolCalls ?? []).filter((call) => standing(call) !== 'WaitingForUser');
  if (calls.length === 0) return null;
  const visible = all ? calls : calls.slice(-shown);
  return (
    <div className={`steps${finished(node) ? '' : ' active'}`}>
      {visible.map((call) => (
        <ToolCard
          key={call.id}
          call={{ ...call, ...(call.id === omitted && inHistory ? { arguments: inHistory, argumentsOmitted: false } : { arguments: call.arguments && JSON.stringify(call.arguments) }), phase: standing(call), at: call.time ?? '', output: call.result ?? call.error, children: [] }}
          open={open === call.id}
          onToggle={() => setOpen(open === call.id ? undefined : call.id)}
        />
      ))}
      {!all && calls.length > shown && (
        <button type="button" className="button ghost small" onClick={() => setAll(true)}>
          Show {calls.length - shown} earlier
        </button>
      )}
      {all && (
        <button type="button" className="button ghost small" onClick={() => inspect(node.name)}>
          <Icon name="eye" size={14} /> Show all in the inspector
        </button>
      )}
    </div>
  );
}
