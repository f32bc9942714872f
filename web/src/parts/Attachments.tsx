// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Attachment } from '../api/types';
import { isImage, sizeOf } from '../model/attachments';
import { bytes } from '../model/format';
import { Icon } from './Icon';

/** The attachments of a message, with images as pictures. onRemove is for a message that is being written. */
export function Attachments({ list, onRemove }: { list: Attachment[]; onRemove?: (name: string) => void }) {
  if (list.length === 0) return null;
  return (
    <ul className="attachments" aria-label="Attachments">
      {list.map((one) => (
        <li key={one.name} className={isImage(one) ? 'picture' : 'file'}>
          {isImage(one) && one.data ? <img src={`data:${one.mediaType};base64,${one.data}`} alt={one.name} /> : <Icon name="copy" size={14} />}
          <span className="attachment-name" title={one.name}>
            {one.name}
          </span>
          <span className="muted">{one.data ? bytes(sizeOf(one)) : one.configMapKeyRef && `ConfigMap ${one.configMapKeyRef.name}`}</span>
          {onRemove && (
            <button type="button" className="button ghost icon-only small" aria-label={`Remove ${one.name}`} onClick={() => onRemove(one.name)}>
              <Icon name="close" size={14} />
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}
