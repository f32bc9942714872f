// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { providers } from '../api/client';
import { Empty } from '../parts/Empty';
import { useSite } from '../state/context';
import { orProblem, usePolled } from '../state/hooks';
import { Facts, Ready, WhenLoaded } from './Loaded';
import { Page } from './Page';
import { EditLink, ProviderSetup, SetUp, TestModel } from './Setup';

/** The model providers of a namespace, or the form of one. */
export function ModelsPage({ onMenu, edit }: { onMenu: () => void; edit?: string }) {
  const { namespace } = useSite();
  const [loaded, again] = usePolled(() => providers(namespace), [namespace]);
  return (
    <Page title={edit === undefined ? 'Models' : edit || 'New model provider'} subtitle={edit === undefined ? 'Where the models of this namespace are' : 'Nothing is written until you apply it'} onMenu={onMenu}>
      <WhenLoaded loaded={orProblem(loaded)} again={again} what="model providers" problem="Model providers cannot be read">
        {(all) =>
          edit !== undefined ? (
            <ProviderSetup name={edit} all={all} />
          ) : typeof all === 'string' ? (
            <p className="note">{all}</p>
          ) : all.length === 0 ? (
            <Empty icon="spark" title="No model providers yet" actions={<SetUp page="models">Set up a model provider</SetUp>}>
              Without one named default, chats use a shared one, or wait for one.
            </Empty>
          ) : (
            <>
              <p>
                <SetUp page="models">New model provider</SetUp>
              </p>
              <div className="cards">
                {all.map(({ metadata, spec, status }) => (
                  <article key={metadata.name} className="card" aria-label={metadata.name}>
                    <header>
                      <h2 className="mono">{metadata.name}</h2>
                      <Ready conditions={status?.conditions ?? []} />
                    </header>
                    <Facts
                      facts={[
                        ['API', spec.api],
                        ['Address', spec.baseURL],
                        ['Default model', spec.defaultModel],
                        ['Prices', spec.models?.map(({ name }) => name).join(', ')],
                      ]}
                    />
                    <footer className="card-foot">
                      <TestModel provider={metadata.name}>Test</TestModel>
                      <EditLink page="models" name={metadata.name} />
                    </footer>
                  </article>
                ))}
              </div>
            </>
          )
        }
      </WhenLoaded>
    </Page>
  );
}
