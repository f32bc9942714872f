// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useState } from 'react';
import { applyTask } from '../api/client';
import type { Task } from '../api/types';
import { copyCommand, copyOf } from '../model/again';
import { exact, randomSuffix } from '../model/format';
import { describeWorkspace } from '../model/newchat';
import { toYAML } from '../model/yaml';
import { Dialog } from '../parts/Dialog';
import { Icon } from '../parts/Icon';
import { Code } from '../parts/Markdown';
import { useRoleName } from '../parts/RoleIcon';
import { useSite } from '../state/context';
import { go, hrefOf } from '../state/route';
import { Trouble } from './Loaded';

/** Creates a copy of a task that has ended, after the person has confirmed it. */
export function RunAgain({ task }: { task: Task }) {
  const [asking, setAsking] = useState(false);
  return (
    <>
      <button type="button" className="button small again" aria-label="Run again" title="Run again" onClick={() => setAsking(true)}>
        <Icon name="restart" size={14} /> <span className="wide-only">Run again</span>
      </button>
      {asking && <RunAgainDialog task={task} onClose={() => setAsking(false)} />}
    </>
  );
}

function RunAgainDialog({ task, onClose }: { task: Task; onClose: () => void }) {
  const site = useSite();
  const roleName = useRoleName();
  const [copy] = useState(() => copyOf(task, site.person, randomSuffix()));
  const [problem, setProblem] = useState<string>();
  const [sending, setSending] = useState(false);
  const { spec } = task;
  if (!exact(spec)) return <Inexact command={copyCommand(task, copy)} onClose={onClose} />;
  const run = async () => {
    setSending(true);
    setProblem(undefined);
    try {
      await applyTask(copy);
      onClose();
      go(hrefOf({ namespace: copy.metadata.namespace, run: copy.metadata.name }));
    } catch (error) {
      setProblem((error as Error).message);
      setSending(false);
    }
  };
  return (
    <Dialog title="Run again?" onClose={onClose}>
      <div className="dialog-text">
        {spec.type === 'Tool' ? (
          <p>
            This calls <strong>{spec.tool}</strong> with the same arguments, without another approval.
          </p>
        ) : (
          <p>
            This starts <strong>{roleName(spec.role)}</strong> with the same instruction and settings. It knows nothing of the first run.
          </p>
        )}
        {spec.workspace && <p>It works on {describeWorkspace(spec.workspace)}. What the first run did is not undone.</p>}
        <details className="again-yaml">
          <summary>YAML of the new task</summary>
          <Code text={toYAML(copy)} label="YAML of the new task" />
        </details>
        {problem && <Trouble>{problem}</Trouble>}
      </div>
      <footer className="dialog-foot">
        <button type="button" className="button" onClick={onClose}>
          Not now
        </button>
        <button type="button" className="button primary" disabled={sending} onClick={() => void run()}>
          Run again
        </button>
      </footer>
    </Dialog>
  );
}

/** What to do with a task that has numbers that the browser has rounded: a copy would do something else. */
function Inexact({ command, onClose }: { command: string; onClose: () => void }) {
  return (
    <Dialog title="Run it again with kubectl" onClose={onClose}>
      <div className="dialog-text">
        <p>This task has numbers that a browser rounds, so a copy made here would not be the same. This command creates an exact one, without another question:</p>
        <Code text={command} language="shell" label="Command" />
      </div>
      <footer className="dialog-foot">
        <button type="button" className="button primary" onClick={onClose}>
          Close
        </button>
      </footer>
    </Dialog>
  );
}
