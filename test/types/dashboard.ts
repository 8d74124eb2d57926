/** What must and must not compile where the dashboard is mounted. Checked by the compiler; never run. */
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

// Plain HTTP: authorize gets the request of Node.js.
const plain: Dashboard = dashboard({ manager, authorize: ({ headers }) => headers.cookie !== undefined && 'viewer' });
createServer(plain);
plain.close();
// The example in the error that is thrown without authorize.
dashboard({ authorize: (request) => roleOf(request.headers.cookie) });

// Express: authorize gets the request after its middleware.
const mounted: Dashboard<express.Request> = dashboard({
  authorize: async (request: express.Request) => isAdmin && { role: 'operator', name: request.get('x-user') },
});
app.use('/jobs', mounted);
app.use('/jobs', dashboard<express.Request>({ authorize: ({ ip }) => (ip === '::1' ? 'operator' : false) }));

// Fetch API: authorize gets the request, or the context of the framework.
const fetched = dashboard({ authorize: (request: Request) => request.headers.has('cookie') && 'viewer' });
export const answer: Promise<Response> = fetched.fetch(context.req.raw);
const around = dashboard({ authorize: (given: Context) => (given.get('user') === undefined ? false : 'viewer') });
export const answerAbout: Promise<Response> = around.fetch(context.req.raw, context);

export const conditional: Authorization = isAdmin ? { role: 'operator', name } : false;
export const role: Role = 'viewer';

// @ts-expect-error -- authorize is missing
dashboard();
// @ts-expect-error -- the same
dashboard({});
// @ts-expect-error -- authorize is undefined
dashboard({ authorize: undefined });
// @ts-expect-error -- not a role
dashboard({ authorize: () => 'admin' });
// @ts-expect-error -- true is not a role
dashboard({ authorize: () => true });
// @ts-expect-error -- a name without a role
dashboard({ authorize: () => ({ name: 'Ada' }) });
// @ts-expect-error -- not a role, with a name
dashboard({ authorize: async () => ({ role: 'admin', name: 'Ada' }) });
// @ts-expect-error -- an unknown option
dashboard({ authorize: () => 'viewer', path: '/jobs' });
// @ts-expect-error -- a field that the request of Node.js does not have
dashboard({ authorize: ({ user }) => user !== undefined && 'viewer' });
// @ts-expect-error -- authorize takes a request of Express, which is missing
void mounted.fetch(context.req.raw);
// @ts-expect-error -- not the context that authorize takes
void around.fetch(context.req.raw, context.req.raw);
// @ts-expect-error -- authorize takes something that node:http does not give
createServer(around);
