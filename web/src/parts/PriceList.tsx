// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Spec } from '../model/form';
import { setIn } from '../model/form';
import { Money } from './FieldInput';
import { Icon } from './Icon';

/** Models with what a million tokens cost. */
export function PriceList({ id, value, onChange }: { id: string; value: Spec[]; onChange: (value: unknown) => void }) {
  const change = (at: number, name: string, to: unknown) => onChange(value.map((model, i) => (i === at ? setIn(model, [name], to) : model)));
  return (
    <div className="price-list">
      {value.map((model, i) => (
        <div key={i} className="price-row">
          <input className="input mono" aria-label={`Model ${i + 1}`} placeholder="Model" value={String(model.name ?? '')} onChange={(event) => change(i, 'name', event.target.value)} />
          <Money aria-label={`Price of input of model ${i + 1}`} placeholder="In" value={model.inputMicrosPerMillion} onChange={(to) => change(i, 'inputMicrosPerMillion', to)} />
          <Money aria-label={`Price of output of model ${i + 1}`} placeholder="Out" value={model.outputMicrosPerMillion} onChange={(to) => change(i, 'outputMicrosPerMillion', to)} />
          <button type="button" className="button ghost icon-only small" aria-label={`Remove model ${i + 1}`} onClick={() => onChange(value.length > 1 ? value.filter((_, at) => at !== i) : undefined)}>
            <Icon name="close" size={14} />
          </button>
        </div>
      ))}
      <button id={id} type="button" aria-label="Add a model" className="button small" onClick={() => onChange([...value, { name: '' }])}>
        <Icon name="plus" size={14} /> Add a model
      </button>
    </div>
  );
}
