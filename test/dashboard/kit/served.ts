/** A dashboard behind a server of its own, and a viewer who asks it without a browser. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Authorization, dashboard } from '../../../src/dashboard';
import type { QueueManager } from '../../../src/application/queue-manager';

export interface Served extends AsyncDisposable {
  /** `http://127.0.0.1:4321/jobs/` */
  readonly address: string;
  get(page: string, headers?: Readonly<Record<string, string>>): Promise<Shown>;
  /** As a form of a page sends it. */
  post(
    action: string,
    fields: Readonly<Record<string, string>> | URLSearchParams,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Shown>;
  /** What the page gives a program. */
  json(page: string): Promise<unknown>;
}

export interface Shown {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface ServedOptions {
  /** Default: an operator called Ada. */
  readonly viewer?: Authorization;
  /** Default `/jobs/`. */
  readonly path?: string;
}

const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin' };

export async function served(
  manager: QueueManager,
  { viewer = { role: 'operator', name: 'Ada' }, path = '/jobs/' }: ServedOptions = {},
): Promise<Served> {
  const panel = dashboard({ authorize: () => viewer, manager });
  const server = createServer(panel);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  const ask = async (page: string, init: RequestInit): Promise<Shown> => {
    const response = await fetch(new URL(page, address), { redirect: 'manual', ...init });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const get: Served['get'] = (page, headers = {}) => ask(page, { headers: { accept: 'text/html', ...headers } });
  return {
    address,
    get,
    post: (action, fields, headers = SAME_ORIGIN) =>
      ask(action, { method: 'POST', headers, body: new URLSearchParams(fields as Record<string, string>) }),
    json: async (page) => JSON.parse((await get(page, { accept: 'application/json' })).text) as unknown,
    async [Symbol.asyncDispose]() {
      panel.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
