// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { Dialog } from '../parts/Dialog';
import { paletteKeys } from './Palette';

const keys: [string, string][] = [
  [paletteKeys, 'Go to a page, chat, run or role, or find text'],
  ['n', 'New chat'],
  ['j  k', 'Next or previous chat'],
  ['r', 'Runs'],
  ['w', 'Next request that waits for you'],
  ['a  d', 'Approve or deny that request, if all of its call is in sight'],
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
