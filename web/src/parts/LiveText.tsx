// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { transcriptOf } from '../api/history';
import { writtenSoFar } from '../model/diff';
import { partOf } from '../model/progress';
import type { Node } from '../model/tree';
import { useSnapshot } from '../state/context';
import { Icon } from './Icon';
import { brief } from './ToolCard';

/** How much of a reply is shown while it arrives. The inspector has all of it. */
const shown = 800;

/** What an agent writes at the moment. It is not announced: the text changes many times a second. */
export function LiveText({ node, who }: { node: Node; who: string }) {
  const { transcripts } = useSnapshot();
  const agent = node.task.status?.subAgent;
  const streaming = agent ? transcripts.get(transcriptOf('subagent', agent))?.streaming : undefined;
  if (!streaming) return null;
  const call = streaming.toolCalls.findLast((made) => made?.tool);
  const written = call && writtenSoFar(call.tool, call.arguments);
  const text = (written?.content || streaming.text || streaming.reasoning).trim();
  if (!text && !call) return null;
  return (
    <div className="live" role="group" aria-label={`${who} is writing`} aria-live="off">
      <span className="label">
        <span className="pulse" aria-hidden="true" /> {call ? [`Preparing ${call.tool}`, written && brief(call.arguments, call.tool)].filter(Boolean).join(': ') : streaming.text ? 'Writing' : 'Thinking'}
      </span>
      {text && (
        <div className="live-text">
          <p>{text.length > shown ? `… ${text.slice(-shown)}` : text}</p>
        </div>
      )}
    </div>
  );
}

/** What the running tools of a task report about their work. */
export function ProgressList({ node }: { node: Node }) {
  const reports = node.display.progress;
  if (!reports) return null;
  return (
    <div role="status">
      <ul className="tool-progress" aria-label="Progress of tools">
        {reports.map(({ call, tool, text }) => (
          <li key={call}>
            <Icon name="tool" size={14} />
            <code>{tool}</code>
            <span className="tool-progress-text">{text}</span>
            {partOf(text) !== undefined && <progress value={partOf(text)} max={1} aria-label={`Progress of ${tool}`} />}
          </li>
        ))}
      </ul>
    </div>
  );
}
