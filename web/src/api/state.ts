// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { ask } from './client';

/** Something that keeps agents from working, with what to do about it. */
export interface Problem {
  kind: 'Operator' | 'Ledger' | 'Provider' | 'RateLimit' | 'Quota' | 'ToolServer';
  severity: 'error' | 'warning';
  object?: string;
  message: string;
  todo: string;
  startTime?: string;
}

/** The problems of the installation and of a namespace, the worst first. */
export async function problems(namespace: string, signal?: AbortSignal): Promise<Problem[]> {
  const response = await ask(`/api/state?namespace=${encodeURIComponent(namespace)}`, { signal });
  return ((await response.json()) as { problems: Problem[] }).problems;
}
