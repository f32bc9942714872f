// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { headOf, obstacleOf, standstillOf } from '../model/standstill';
import { finished, type Node } from '../model/tree';
import { Icon } from './Icon';

/** Why a task does not start, or does not continue. */
export function Standstill({ node }: { node: Node }) {
  const { status } = node.task;
  const still = finished(node) ? undefined : (standstillOf(node.agent?.status?.conditions) ?? standstillOf(status?.conditions));
  const why = status?.phase === 'Pending' || !status?.phase ? status?.conditions?.find((condition) => condition.type === 'Succeeded') : undefined;
  const obstacle = obstacleOf(node.task);
  return (
    <>
      {obstacle ? (
        <p className="note failed" role="status">
          <Icon name="alert" size={14} />
          <span>
            <strong>It cannot start.</strong> {obstacle}
          </span>
        </p>
      ) : (
        why?.message && !still && <p className="note">{why.message}</p>
      )}
      {still && (
        <p className="note waiting" role="status">
          <Icon name="clock" size={14} />
          <span>
            <strong>{headOf(still)}.</strong> {still.message}
          </span>
        </p>
      )}
    </>
  );
}
