// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useSite } from '../state/context';
import { Icon } from './Icon';

/** Copies text. On pages without HTTPS browsers offer no clipboard: then it fails, and the caller reports that. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** Copies a link to a place of this page. */
export function CopyLink({ href }: { href: string }) {
  const { toast } = useSite();
  const copy = async () => {
    const link = new URL(href, location.href).href;
    if (await copyText(link)) toast('The link is copied. It works for people who may see this.');
    else toast(`This browser does not let the page copy. The link is ${link}`, 'error');
  };
  return (
    <button type="button" className="button ghost icon-only" aria-label="Copy the link" title="Copy the link" onClick={() => void copy()}>
      <Icon name="link" />
    </button>
  );
}
