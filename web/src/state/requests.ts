// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

/** Moves the focus to the next open request of the view, and reports whether there is one. */
export function focusNextRequest(): boolean {
  const requests = [...document.querySelectorAll<HTMLElement>('section.approval.open')];
  if (requests.length === 0) return false;
  const current = requests.findIndex((request) => request.contains(document.activeElement));
  const next = requests[(current + 1) % requests.length]!;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: 'center' });
  return true;
}

/** Reports whether everything in an element can be seen now: nothing of it is outside of the window or of a box that scrolls, also inside it. */
export function whollyVisible(element: Element): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  if (top < -1 || bottom > window.innerHeight + 1) return false;
  for (let outer = element.parentElement; outer; outer = outer.parentElement) {
    const box = outer.getBoundingClientRect();
    if (cuts(getComputedStyle(outer).overflowY) && (top < box.top - 1 || bottom > box.bottom + 1)) return false;
  }
  return [...element.querySelectorAll('*')].every((part) => {
    if (part.clientWidth <= 1) return true; // for assistive technology only
    const { overflowX, overflowY } = getComputedStyle(part);
    return (!cuts(overflowX) || part.scrollWidth <= part.clientWidth + 1) && (!cuts(overflowY) || part.scrollHeight <= part.clientHeight + 1);
  });
}

const cuts = (overflow: string) => overflow !== 'visible' && overflow !== '';
