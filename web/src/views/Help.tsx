// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { Dialog } from '../parts/Dialog';

const keys: [string, string][] = [
  ['n', 'New chat'],
  ['j  k', 'Next or previous chat'],
  ['r', 'Runs'],
  ['/', 'Write a message'],
  ['c  t  u  d', 'Chat, timeline, usage or changes'],
  ['i', 'Inspect the newest task, or close the inspector'],
  ['Esc', 'Leave the input, or close'],
  ['Enter', 'Send'],
  ['Shift Enter', 'New line'],
  ['?', 'This help'],
];

export function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <dl className="keys">
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              {key.split('  ').map((one) => (
                <kbd key={one}>{one}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
