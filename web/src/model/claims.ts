// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Node } from './tree';

/** A tool call whose outcome supports or contradicts what an agent says about tests. */
export interface Evidence {
  command: string;
  passed: boolean;
}

const runners = /\b(go test|npm (run )?test|npx (vitest|jest)|yarn test|pnpm test|make (\S+ )*\S*test\S*|pytest|tox|cargo (nextest|test)|mvn|gradlew?|rspec|jest|vitest|phpunit|ctest|dotnet test|bazel test|unittest|node --test|mix test)\b/;
/** Commands that hide the exit code of the test run: a pipe has the exit code of its last part. */
const hides = /\||;\s*\S|\|\||&\s*$/;

/**
 * Returns the last call of a task's agent that ran tests. Only the tool bash counts: its call succeeds if and only if the command
 * ends with exit code 0. Agents have a few calls in their status; the inspector has all of them.
 */
export function evidenceOf(node: Node): Evidence | undefined {
  const calls = node.agent?.status?.toolCalls ?? [];
  for (const { tool, phase, arguments: args } of calls.toReversed()) {
    if (tool !== 'bash' || (phase !== 'Success' && phase !== 'Failed')) continue;
    const command = args?.command;
    if (typeof command === 'string' && runners.test(command) && !(phase === 'Success' && hides.test(command.replace(/2>&1/g, '')))) return { command, passed: phase === 'Success' };
  }
  return undefined;
}
