// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

const paths = {
  plus: 'M8 3v10M3 8h10',
  send: 'M8 13V3M3.5 7.5 8 3l4.5 4.5',
  stop: 'M4.5 4.5h7v7h-7z',
  close: 'm4 4 8 8M12 4l-8 8',
  chevron: 'm6 4 4 4-4 4',
  down: 'M8 3v10M3.5 8.5 8 13l4.5-4.5',
  check: 'm3.5 8.5 3 3 6-7',
  cross: 'm4.5 4.5 7 7M11.5 4.5l-7 7',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 5v3.2l2 1.3',
  hand: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM6.4 6.2a1.7 1.7 0 1 1 2.4 1.6c-.5.2-.8.6-.8 1.1v.2M8 11.2v.1',
  ban: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM3.8 3.8l8.4 8.4',
  branch: 'M8 5.5v2M4 10.5V10a2 2 0 0 1 2-2h4a2 2 0 0 1 2 2v.5M8 5.5a1.6 1.6 0 1 0 0-3.2 1.6 1.6 0 0 0 0 3.2ZM4 13.7a1.6 1.6 0 1 0 0-3.2 1.6 1.6 0 0 0 0 3.2ZM12 13.7a1.6 1.6 0 1 0 0-3.2 1.6 1.6 0 0 0 0 3.2Z',
  dot: 'M8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z',
  dots: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  alert: 'M8 2.5 14 13H2L8 2.5ZM8 6.5v3M8 11.3v.1',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  panel: 'M2.5 3.5h11v9h-11zM9.5 3.5v9',
  timeline: 'M2.5 4h5M5 8h6M8.5 12h5',
  chart: 'M3 13V8M8 13V3M13 13v-3.5',
  chat: 'M2.5 3.5h11v7.5H7l-3 2.5V11H2.5z',
  users: 'M6 7.5a2.3 2.3 0 1 0 0-4.6 2.3 2.3 0 0 0 0 4.6ZM2 13c.3-2.3 1.9-3.6 4-3.6s3.7 1.3 4 3.6M10.8 7.3a2 2 0 0 0 .2-4M11.6 9.6c1.4.4 2.2 1.6 2.4 3.4',
  tool: 'M9.7 3.2a3.2 3.2 0 0 0-3.9 4.2L2.6 10.6a1.3 1.3 0 0 0 0 1.9l.9.9c.5.5 1.4.5 1.9 0l3.2-3.2a3.2 3.2 0 0 0 4.2-3.9L10.9 8.2 9 7.9 7.8 6.1z',
  trash: 'M3 4.5h10M6.5 4.5v-2h3v2M4.2 4.5l.6 9h6.4l.6-9',
  sun: 'M8 10.7a2.7 2.7 0 1 0 0-5.4 2.7 2.7 0 0 0 0 5.4ZM8 1.8v1.4M8 12.8v1.4M1.8 8h1.4M12.8 8h1.4M3.6 3.6l1 1M11.4 11.4l1 1M12.4 3.6l-1 1M4.6 11.4l-1 1',
  moon: 'M13.2 9.7A5.6 5.6 0 0 1 6.3 2.8a5.6 5.6 0 1 0 6.9 6.9Z',
  auto: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 2v12M8 5h4.6M8 8h6M8 11h4.6',
  key: 'M6 10.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8.7 8.5 13.5 8.5M12 8.5v2',
  spark: 'M8 2l1.5 4.5L14 8l-4.5 1.5L8 14l-1.5-4.5L2 8l4.5-1.5z',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM10.5 10.5l3 3',
  reply: 'M6.5 3.5 3 7l3.5 3.5M3 7h6a4 4 0 0 1 4 4v1.5',
  eye: 'M1.8 8S4 3.8 8 3.8 14.2 8 14.2 8 12 12.2 8 12.2 1.8 8 1.8 8ZM8 9.8a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6Z',
  help: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM6.4 6.2a1.7 1.7 0 1 1 2.4 1.6c-.5.2-.8.6-.8 1.1v.2M8 11.2v.1',
  restart: 'M13 8a5 5 0 1 1-1.6-3.7M13 2.5v3h-3',
  diff: 'M8 2.5v6M5 5.5h6M5 12.5h6',
  edit: 'M10.5 3 13 5.5 5.5 13H3v-2.5zM9 4.5 11.5 7',
  inbox: 'M2.5 8.5 4.3 3.5h7.4l1.8 5v4h-11ZM2.5 8.5h3.2a2.3 2.3 0 0 0 4.6 0h3.2',
  bell: 'M4 11V7a4 4 0 0 1 8 0v4l1.2 1.5H2.8ZM6.8 14h2.4',
  link: 'M6.8 9.2a2.6 2.6 0 0 0 3.7 0l2.2-2.2A2.6 2.6 0 0 0 9 3.3l-.7.7M9.2 6.8a2.6 2.6 0 0 0-3.7 0L3.3 9A2.6 2.6 0 0 0 7 12.7l.7-.7',
  export: 'M8 10V2.5M5 5.2 8 2.5l3 2.7M3 9.5v4h10v-4',
  copy: 'M5.5 5.5h7v8h-7zM3.5 10.5v-8h7',
  sliders: 'M3 4.5h10M3 8h10M3 11.5h10M6 3v3M10.5 6.5v3M5.5 10v3',
} as const;

export type IconName = keyof typeof paths;

/** A decorative icon, beside a text or in a control that has a label. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg className={`icon icon-${name}`} viewBox="0 0 16 16" width={size} height={size} aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
}
