/** What compiles, and what must not, where the dashboard is mounted. Checked by the compiler; never run. */
import { createServer } from 'node:http';
import type express from 'express';
import type { Context } from 'hono';
import type { QueueManager } from '../../src/application/queue-manager';
import { type Authorization, dashboard, type Dashboard, type Role } from '../../src/dashboard';

declare const app: express.Express;
declare const context: Context;
declare const manager: QueueManager | undefined;
declare const roleOf: (cookie: string | undefined) => Authorization;
declare const isAdmin: boolean;
declare const name: string | undefined;

// Plain http: the request is that of Node.js.
const plain: Dashboard = dashboard({ manager, authorize: ({ headers }) => headers.cookie !== undefined && 'viewer' });
createServer(plain);
plain.close();
// What the error says that is thrown without authorize.
dashboard({ authorize: (request) => roleOf(request.headers.cookie) });

// Express: the request is the one that its middleware has worked on.
const mounted: Dashboard<express.Request> = dashboard({
  authorize: async (request: express.Request) => isAdmin && { role: 'operator', name: request.get('x-user') },
});
app.use('/jobs', mounted);
app.use('/jobs', dashboard<express.Request>({ authorize: ({ ip }) => (ip === '::1' ? 'operator' : false) }));

// The Fetch standard: the request itself is asked about, or what the framework has around it.
const fetched = dashboard({ authorize: (request: Request) => request.headers.has('cookie') && 'viewer' });
export const answer: Promise<Response> = fetched.fetch(context.req.raw);
const around = dashboard({ authorize: (given: Context) => (given.get('user') === undefined ? false : 'viewer') });
export const answerAbout: Promise<Response> = around.fetch(context.req.raw, context);

export const conditional: Authorization = isAdmin ? { role: 'operator', name } : false;
export const role: Role = 'viewer';

// @ts-expect-error -- nobody says who may look
dashboard();
// @ts-expect-error -- the same
dashboard({});
// @ts-expect-error -- undefined is nobody who says it
dashboard({ authorize: undefined });
// @ts-expect-error -- no role
dashboard({ authorize: () => 'admin' });
// @ts-expect-error -- whoever it is, true tells of no role
dashboard({ authorize: () => true });
// @ts-expect-error -- a name alone
dashboard({ authorize: () => ({ name: 'Ada' }) });
// @ts-expect-error -- no role, of somebody
dashboard({ authorize: async () => ({ role: 'admin', name: 'Ada' }) });
// @ts-expect-error -- an option that there is not
dashboard({ authorize: () => 'viewer', path: '/jobs' });
// @ts-expect-error -- a field that the request of Node.js has not
dashboard({ authorize: ({ user }) => user !== undefined && 'viewer' });
// @ts-expect-error -- authorize is to be asked about a request of Express, and there is none
void mounted.fetch(context.req.raw);
// @ts-expect-error -- about another one than authorize takes
void around.fetch(context.req.raw, context.req.raw);
// @ts-expect-error -- authorize takes what node:http does not give
createServer(around);
