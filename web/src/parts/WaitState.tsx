// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Node } from '../model/tree';
import { Icon } from './Icon';

/** Why a task does not start, or does not continue. */
export function WaitState({ node }: { node: Node }) {
  const still = node.display.waitState;
  if (!still?.message) return null;
  if (still.kind === 'Queued') return <p className="note">{still.message}</p>;
  const blocked = still.kind === 'Blocked';
  return (
    <p className={`note ${blocked ? 'failed' : 'waiting'}`} role="status">
      <Icon name={blocked ? 'alert' : 'clock'} size={14} />
      <span>
        <strong>{still.head}.</strong> {still.message}
      </span>
    </p>
  );
}
