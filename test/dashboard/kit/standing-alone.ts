/** The dashboard as `onqueue dashboard` serves it, on a test clock, and helpers to sign in. */
import type { AddressInfo } from 'node:net';
import type { Role } from '../../../src/dashboard/access/access';
import { StandaloneDashboard, tokensIn } from '../../../src/dashboard/standalone';
import { testApplication } from '../../support/application';

export const TOKEN = 'an-operator-has-this-token-of-48-characters-here';
export const VIEWER_TOKEN = 'a-viewer-has-this-other-token-of-49-characters-xx';

export interface StandaloneOptions {
  readonly variables?: Readonly<Record<string, string>>;
  readonly role?: Role;
}

export async function standingAlone({ variables = {}, role = 'operator' }: StandaloneOptions = {}) {
  const app = testApplication();
  const panel = new StandaloneDashboard(app.manager);
  await new Promise<void>((resolve) => panel.server.listen(0, '127.0.0.1', resolve));
  const { port } = panel.server.address() as AddressInfo;
  const link = panel.begin(port, tokensIn(variables, '127.0.0.1'), role);
  const address = `http://127.0.0.1:${port}/`;
  const ask = (page: string, init: RequestInit = {}) => fetch(new URL(page, address), { redirect: 'manual', ...init });
  const get = (page: string, headers: Readonly<Record<string, string>> = {}) =>
    ask(page, { headers: { accept: 'text/html', ...headers } });
  const post = (
    page: string,
    fields: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = {},
  ) =>
    ask(page, {
      method: 'POST',
      headers: { 'sec-fetch-site': 'same-origin', ...headers },
      body: new URLSearchParams(fields),
    });
  return {
    ...app,
    panel,
    port,
    address,
    /** The sign-in link, `sign-in?key=…`. */
    link,
    ask,
    get,
    post,
    /** Signs in with the link, and returns the headers for later requests. */
    enter: async (page = link) => ({ cookie: cookieOf(await get(page)) }),
    enterBy: async (token: string) => ({ cookie: cookieOf(await post('sign-in', { token })) }),
    async [Symbol.asyncDispose]() {
      panel.close();
      panel.server.closeAllConnections();
      await new Promise((resolve) => panel.server.close(resolve));
    },
  };
}

/** The cookie as `name=value`. Empty if there is none. */
export function cookieOf(response: Response): string {
  return response.headers.getSetCookie()[0]?.split(';', 1)[0] ?? '';
}
