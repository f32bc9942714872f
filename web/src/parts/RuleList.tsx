// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { getIn, setIn, type Spec } from '../model/form';
import { ruleFields } from '../model/policy';
import { FieldInput } from './FieldInput';
import { Icon } from './Icon';

/** The rules of a policy. */
export function RuleList({ id, value, onChange }: { id: string; value: Spec[]; onChange: (value: unknown) => void }) {
  return (
    <div className="rule-list">
      {value.map((rule, i) => (
        <fieldset key={i} className="rule">
          <legend>Rule {i + 1}</legend>
          {ruleFields.map((field) => (
            <FieldInput key={field.path[0]} field={field} value={getIn(rule, field.path)} usual={undefined} choices={{}} onChange={(to) => onChange(value.map((other, at) => (at === i ? setIn(other, field.path, to) : other)))} />
          ))}
          <button type="button" className="button small" onClick={() => onChange(value.length > 1 ? value.filter((_, at) => at !== i) : undefined)}>
            Remove rule {i + 1}
          </button>
        </fieldset>
      ))}
      <button id={id} type="button" aria-label="Add a rule" className="button small" onClick={() => onChange([...value, { name: `rule-${value.length + 1}`, allowWhen: '' }])}>
        <Icon name="plus" size={14} /> Add a rule
      </button>
    </div>
  );
}
