/** A dashboard on its own server, and a client that acts as a viewer without a browser. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Authorization, dashboard } from '../../../src/dashboard';
import type { QueueManager } from '../../../src/application/queue-manager';
import { eventually } from '../../support/eventually';

export interface Served extends AsyncDisposable {
  /** `http://127.0.0.1:4321/jobs/` */
  readonly address: string;
  readonly port: number;
  get(page: string, headers?: Readonly<Record<string, string>>): Promise<Shown>;
  /** Sends a form as a page would. */
  post(
    action: string,
    fields: Readonly<Record<string, string>> | URLSearchParams,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Shown>;
  /** Resolves once the given number of viewers listen for changes. */
  watchers(count: number): Promise<void>;
  /** The page as JSON. */
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
  /** Replaces `viewer`. */
  readonly authorize?: () => unknown;
  /** Default: `/jobs/`. */
  readonly path?: string;
  /** Default: a free port. */
  readonly port?: number;
}

const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin' };

export async function served(
  manager: QueueManager,
  {
    viewer = { role: 'operator', name: 'Ada' },
    authorize = () => viewer,
    path = '/jobs/',
    port: chosen = 0,
  }: ServedOptions = {},
): Promise<Served> {
  // The cast allows invalid values, as JavaScript does.
  const panel = dashboard({ authorize: authorize as () => Authorization, manager });
  const listening = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    if (request.headers.accept === 'text/event-stream') {
      listening.add(response);
      response.once('close', () => listening.delete(response));
    }
    panel(request, response);
  });
  await new Promise<void>((resolve) => server.listen(chosen, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const address = `http://127.0.0.1:${port}${path}`;
  const ask = async (page: string, init: RequestInit): Promise<Shown> => {
    const response = await fetch(new URL(page, address), { redirect: 'manual', ...init });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const get: Served['get'] = (page, headers = {}) => ask(page, { headers: { accept: 'text/html', ...headers } });
  return {
    address,
    port,
    get,
    post: (action, fields, headers = SAME_ORIGIN) =>
      ask(action, { method: 'POST', headers, body: new URLSearchParams(fields as Record<string, string>) }),
    watchers: async (count) => {
      await eventually(() => listening.size === count, { of: `${count} who listen` });
    },
    json: async (page) => JSON.parse((await get(page, { accept: 'application/json' })).text) as unknown,
    async [Symbol.asyncDispose]() {
      panel.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
