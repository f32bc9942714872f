// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Badge as BadgeKind } from '../api/types';
import { Icon, type IconName } from './Icon';

/** The appearance of each state: always a text and a shape, never colour alone. */
export const badges: Record<BadgeKind, { label: string; icon: IconName }> = {
  pending: { label: 'Pending', icon: 'dots' },
  running: { label: 'Running', icon: 'restart' },
  delegating: { label: 'Delegating', icon: 'branch' },
  waiting: { label: 'Waiting for you', icon: 'hand' },
  success: { label: 'Done', icon: 'check' },
  failed: { label: 'Failed', icon: 'cross' },
  timedout: { label: 'Timed out', icon: 'clock' },
  cancelling: { label: 'Cancelling', icon: 'ban' },
  cancelled: { label: 'Cancelled', icon: 'ban' },
};

export function Badge({ kind, label }: { kind: BadgeKind; label?: string }) {
  const { label: usual, icon } = badges[kind];
  return (
    <span className={`badge badge-${kind}`}>
      <Icon name={icon} size={12} />
      {label ?? usual}
    </span>
  );
}

/** A state without a visible text. */
export function StatusDot({ kind, label }: { kind: BadgeKind | 'idle'; label: string }) {
  return (
    <span className={`status status-${kind}`} role="img" aria-label={label} title={label}>
      <Icon name={kind === 'idle' ? 'dot' : badges[kind].icon} size={12} />
    </span>
  );
}
