/** The stores that the thread has open. Workers of the same store share one, which the last of them closes. */
import { pathToFileURL } from 'node:url';
import { serialize } from 'node:v8';
import type { Seconds } from '../../../base/clock';
import type { StoreThread, ThreadAccess } from '../../../connections/contract';

interface StoreModule {
  readonly open: (data: unknown, deadline: Seconds) => StoreThread;
}

export interface SharedStore {
  readonly opened: Promise<StoreThread>;
  /** To be called once by each user that opened it. */
  readonly close: () => Promise<void>;
}

const stores = new Map<string, { readonly opened: Promise<StoreThread>; users: number }>();

export function openStore(access: ThreadAccess, lease: Seconds): SharedStore {
  const key = serialize([access, lease]).toString('latin1');
  const store = stores.get(key) ?? { opened: load(access, lease), users: 0 };
  stores.set(key, store);
  store.users += 1;
  const close = async (): Promise<void> => {
    store.users -= 1;
    if (store.users > 0) return;
    stores.delete(key);
    const opened = await store.opened.catch(() => undefined);
    await opened?.close();
  };
  return { opened: store.opened, close };
}

async function load({ module, data }: ThreadAccess, lease: Seconds): Promise<StoreThread> {
  const loaded = (await import(pathToFileURL(module).href)) as StoreModule;
  // A call that took longer would leave no time for another one.
  return loaded.open(data, lease / 3);
}
