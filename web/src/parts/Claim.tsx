// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Evidence } from '../model/claims';
import { plural } from '../model/format';
import { Icon } from './Icon';

/** What an agent says about tests. A model can say anything: only the result of a tool is marked as a success. */
export function Claim({ passed, run, evidence }: { passed: number; run: number; evidence?: Evidence }) {
  const state = evidence === undefined ? 'claimed' : evidence.passed && passed >= run ? 'passed' : 'failed';
  return (
    <p className={`tests ${state}`}>
      <Icon name={state === 'claimed' ? 'help' : state === 'passed' ? 'check' : 'cross'} size={14} />
      <span>
        The agent claims that {passed} of {plural(run, 'test')} passed.{' '}
        {evidence ? (
          <>
            <code>{evidence.command}</code> {evidence.passed ? 'ended with exit code 0.' : 'failed.'}
          </>
        ) : (
          'No tool result shows this.'
        )}
      </span>
    </p>
  );
}
