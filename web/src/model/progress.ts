// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { finished, type Node } from './tree';

/** What a running tool of a task reports, if anything. */
export function progressOf(node: Node): string | undefined {
  if (finished(node)) return undefined;
  const { spec, status } = node.task;
  if (status?.progress) return `${spec.tool ?? 'tool'}: ${status.progress}`;
  const call = node.agent?.status?.toolCalls?.find((c) => c.progress);
  return call && `${call.tool}: ${call.progress}`;
}
