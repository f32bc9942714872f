// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

/** A choice of one of a few values. */
export function Segments<T extends string>({ label, value, options, onChange }: { label: string; value: T; options: { value: T; label: string }[]; onChange: (value: T) => void }) {
  return (
    <div className="segments" role="group" aria-label={label}>
      {options.map((option) => (
        <button key={option.value} type="button" className="segment" aria-pressed={option.value === value} onClick={() => onChange(option.value)}>
          {option.label}
        </button>
      ))}
    </div>
  );
}
